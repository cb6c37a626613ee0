! wait_fortran - MPI's calls that block, from Fortran, with their results as text.
!
! Whichever way the ranks wait, the text is the same.
!
! SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
program wait_fortran
  use mpi
  implicit none
  integer, parameter :: pairs = 4
  integer :: rank, ranks, left, right, fault, i, n, place, message
  integer :: s(MPI_STATUS_SIZE), all(MPI_STATUS_SIZE, 2 * pairs)
  integer :: r(2 * pairs), into(pairs), out(pairs), places(2 * pairs)
  integer :: mine(2), whole(64)
  double precision :: x, total

  call MPI_Init(fault)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, fault)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, fault)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)

  ! point to point
  mine = (/ rank, 10 * rank /)
  if (mod(rank, 2) == 0) then
     call MPI_Send(mine, 2, MPI_INTEGER, right, 1, MPI_COMM_WORLD, fault)
     call MPI_Recv(whole, 2, MPI_INTEGER, left, 1, MPI_COMM_WORLD, s, fault)
  else
     call MPI_Recv(whole, 2, MPI_INTEGER, left, MPI_ANY_TAG, MPI_COMM_WORLD, s, &
          fault)
     call MPI_Ssend(mine, 2, MPI_INTEGER, right, 1, MPI_COMM_WORLD, fault)
  end if
  call say("recv", whole(1:2))
  call say("recv's status", (/ s(MPI_SOURCE), s(MPI_TAG) /))
  call MPI_Sendrecv(mine, 2, MPI_INTEGER, right, 2, whole, 2, MPI_INTEGER, left, &
       2, MPI_COMM_WORLD, s, fault)
  call say("sendrecv", (/ whole(1:2), s(MPI_SOURCE), s(MPI_TAG) /))
  call MPI_Sendrecv_replace(mine, 2, MPI_INTEGER, right, 3, left, 3, &
       MPI_COMM_WORLD, MPI_STATUS_IGNORE, fault)
  call say("sendrecv_replace", mine)
  mine = (/ rank, 10 * rank /)

  ! requests, one of them null
  call post
  call MPI_Wait(r(1), s, fault)
  call say("wait", (/ into(1), s(MPI_SOURCE), s(MPI_TAG) /))
  call MPI_Waitall(2 * pairs, r, all, fault)
  call say("waitall", into)
  call say("waitall's statuses", all(MPI_TAG, 2:pairs))
  call post
  call MPI_Waitall(2 * pairs, r, MPI_STATUSES_IGNORE, fault)
  call say("waitall, no statuses", into)
  call post
  places = 0
  do
     call MPI_Waitany(2 * pairs, r, place, s, fault)
     if (place < 1) exit              ! MPI_UNDEFINED; MPICH 4.0 adds 1
     places(place) = places(place) + 1
  end do
  call say("waitany", (/ into, places /))
  call post
  do
     call MPI_Waitsome(2 * pairs, r, n, places, all, fault)
     if (n < 1) exit
  end do
  call say("waitsome", into)
  call MPI_Isend(mine, 2, MPI_INTEGER, right, 4, MPI_COMM_WORLD, r(1), fault)
  call MPI_Probe(left, MPI_ANY_TAG, MPI_COMM_WORLD, s, fault)
  call say("probe", (/ s(MPI_SOURCE), s(MPI_TAG) /))
  call MPI_Mprobe(left, 4, MPI_COMM_WORLD, message, s, fault)
  call MPI_Mrecv(whole, 2, MPI_INTEGER, message, s, fault)
  call say("mrecv", whole(1:2))
  call MPI_Wait(r(1), MPI_STATUS_IGNORE, fault)

  ! collectives
  call MPI_Barrier(MPI_COMM_WORLD, fault)
  n = 7 * rank
  call MPI_Bcast(n, 1, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, fault)
  call say("bcast", (/ n /))
  whole = 0
  call MPI_Gather(mine, 2, MPI_INTEGER, whole, 2, MPI_INTEGER, 0, &
       MPI_COMM_WORLD, fault)
  call say("gather", whole(1:2 * ranks))
  call MPI_Scatter(whole, 2, MPI_INTEGER, mine, 2, MPI_INTEGER, 0, &
       MPI_COMM_WORLD, fault)
  call say("scatter", mine)
  call MPI_Allgather(mine, 2, MPI_INTEGER, whole, 2, MPI_INTEGER, &
       MPI_COMM_WORLD, fault)
  call say("allgather", whole(1:2 * ranks))
  call MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INTEGER, whole, 1, MPI_INTEGER, &
       MPI_COMM_WORLD, fault)
  call say("alltoall in place", whole(1:ranks))
  x = 0.5d0 * rank
  call MPI_Allreduce(x, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, &
       fault)
  call say("allreduce", (/ int(2 * total) /))
  call MPI_Allreduce(MPI_IN_PLACE, mine, 2, MPI_INTEGER, MPI_MAX, &
       MPI_COMM_WORLD, fault)
  call say("allreduce in place", mine)
  n = 0
  call MPI_Reduce(rank, n, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, fault)
  call say("reduce", (/ n /))
  call MPI_Scan(rank, n, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, fault)
  call say("scan", (/ n /))

  ! a fault comes back
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, fault)
  call MPI_Send(rank, 1, MPI_INTEGER, ranks + 5, 0, MPI_COMM_WORLD, fault)
  if (fault == MPI_SUCCESS) stop 1
  call MPI_Error_class(fault, n, fault)
  call say("send to nobody there", (/ merge(1, 0, n == MPI_ERR_RANK) /))
  call MPI_Finalize(fault)

contains

  subroutine post
    integer :: k

    r = MPI_REQUEST_NULL
    into = -77
    do k = 1, pairs
       if (k == 3) cycle
       out(k) = 10 * rank + k
       call MPI_Irecv(into(k), 1, MPI_INTEGER, left, 20 + k, MPI_COMM_WORLD, &
            r(k), fault)
       call MPI_Isend(out(k), 1, MPI_INTEGER, right, 20 + k, MPI_COMM_WORLD, &
            r(pairs + k), fault)
    end do
  end subroutine post

  subroutine say(what, values)
    character(*), intent(in) :: what
    integer, intent(in) :: values(:)

    print '("rank ", i0, " ", a, ":", *(1x, i0))', rank, what, values
  end subroutine say
end program wait_fortran
