# To be sourced: interrupt PROGRAM PID sends SIGINT to a program in the background, or to PROGRAM-learning that goes on
# in its place, as soon as it catches it.
# A shell starts what is in the background with SIGINT ignored; it is waited for until the program, and not
# the shell's copy that is to become it, catches it. Fails where it does not within a minute.
interrupt() {
  local program=$1 process=$2 i
  for ((i = 0; i < 600; ++i)); do
    if [[ /proc/$process/exe -ef $program || /proc/$process/exe -ef $program-learning ]] &&
       (( 0x$(sed -n 's/^SigCgt:\t*//p' "/proc/$process/status") & 2 )); then
      kill -INT "$process"
      return
    fi
    sleep 0.1
  done
  kill "$process"
  return 1
}
