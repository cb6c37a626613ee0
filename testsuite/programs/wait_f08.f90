! wait_f08 - the same as wait_fortran by the module mpi_f08, in short: its calls have
! other names in the library.
!
! SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
program wait_f08
  use mpi_f08
  implicit none
  integer :: rank, ranks, i, total, got
  type(MPI_Status) :: s
  type(MPI_Request) :: r(2)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  do i = 1, 100
     call MPI_Irecv(got, 1, MPI_INTEGER, mod(rank + ranks - 1, ranks), i, &
          MPI_COMM_WORLD, r(1))
     call MPI_Isend(rank, 1, MPI_INTEGER, mod(rank + 1, ranks), i, &
          MPI_COMM_WORLD, r(2))
     call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
     call MPI_Sendrecv(got, 1, MPI_INTEGER, mod(rank + 1, ranks), i, total, 1, &
          MPI_INTEGER, mod(rank + ranks - 1, ranks), i, MPI_COMM_WORLD, s)
     call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
     call MPI_Barrier(MPI_COMM_WORLD)
  end do
  print '("rank ", i0, ": ", *(1x, i0))', rank, got, total, s%MPI_TAG
  call MPI_Finalize()
end program wait_f08
