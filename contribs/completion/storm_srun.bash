# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
# srun --launch=: Slurm's own completion does not know it. This one hands all other words to
# Slurm's, which it has bash-completion load when srun is completed for the first time.
# It is a file of the administrator's, and stays when the package is removed.
type -P storm >/dev/null || return 0

_storm_srun()
{
    local cur=${COMP_WORDS[COMP_CWORD]} i
    if [[ ${COMP_WORDS[COMP_CWORD-1]} == --launch && $cur == = ]]; then
        cur=
        COMPREPLY=(storm slurm)
        return
    fi
    if ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[COMP_CWORD-1]} == = &&
        ${COMP_WORDS[COMP_CWORD-2]} == --launch ]]; then
        COMPREPLY=($(compgen -W "storm slurm" -- "$cur"))
        return
    fi
    if [[ -z ${_storm_srun_next-} ]]; then
        complete -r srun
        for i in /usr/share/bash-completion/completions/{srun,slurm-wlm}; do
            [[ -r $i ]] || continue
            . "$i"
            break
        done
        i=$(complete -p srun 2>/dev/null)
        _storm_srun_next=none
        [[ $i == *" -F "* ]] &&
            _storm_srun_next=$(command sed -E 's/.* -F ([^ ]+).*/\1/' <<<"$i")
        [[ $_storm_srun_next == _storm_srun ]] && _storm_srun_next=none
        # its other options are kept
        [[ $i == *" -o nospace"* ]] && i="-o nospace" || i=
        complete $i -F _storm_srun srun
    fi
    COMPREPLY=()
    [[ $_storm_srun_next == none ]] || "$_storm_srun_next" "$@"
    [[ --launch= == "$cur"* && $cur == --l* ]] && COMPREPLY+=(--launch=)
    return 0
}

complete -F _storm_srun srun
