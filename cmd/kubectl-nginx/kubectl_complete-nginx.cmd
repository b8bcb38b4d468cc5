@rem kubectl runs this program, if it is in PATH, to complete the arguments of kubectl nginx.
@kubectl-nginx.exe __complete %*
