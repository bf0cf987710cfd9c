package modules

import "reprise/abi"

// WASIFunction is one row of WASI preview 1.
type WASIFunction struct {
	Name            string
	Params, Results []abi.ValType
	// Pointers says that a parameter points into the guest's memory.
	Pointers bool
}

// FindWASI returns the row of a function.
func FindWASI(name string) (WASIFunction, bool) {
	for _, f := range WASI {
		if f.Name == name {
			return f, true
		}
	}
	return WASIFunction{}, false
}

// wasi makes a row from a signature of one letter a parameter: i for i32, l for i64, p for an i32 that
// points into memory. Every function returns an errno except proc_exit, which does not return.
func wasi(name, signature string) WASIFunction {
	f := WASIFunction{Name: name, Results: []abi.ValType{abi.I32}}
	if name == "proc_exit" {
		f.Results = nil
	}
	for _, c := range []byte(signature) {
		t := abi.I32
		switch c {
		case 'l':
			t = abi.I64
		case 'p':
			f.Pointers = true
		}
		f.Params = append(f.Params, t)
	}
	return f
}

// WASI is all of WASI preview 1, in the order of its specification, with sock_accept, which was added to
// it later. A module may import any of it; what the host's virtual device does not offer answers with an
// errno. The upload check refuses by this table and the sandbox binds by it.
var WASI = []WASIFunction{
	wasi("args_get", "pp"),
	wasi("args_sizes_get", "pp"),
	wasi("environ_get", "pp"),
	wasi("environ_sizes_get", "pp"),
	wasi("clock_res_get", "ip"),
	wasi("clock_time_get", "ilp"),
	wasi("fd_advise", "illi"),
	wasi("fd_allocate", "ill"),
	wasi("fd_close", "i"),
	wasi("fd_datasync", "i"),
	wasi("fd_fdstat_get", "ip"),
	wasi("fd_fdstat_set_flags", "ii"),
	wasi("fd_fdstat_set_rights", "ill"),
	wasi("fd_filestat_get", "ip"),
	wasi("fd_filestat_set_size", "il"),
	wasi("fd_filestat_set_times", "illi"),
	wasi("fd_pread", "ipilp"),
	wasi("fd_prestat_get", "ip"),
	wasi("fd_prestat_dir_name", "ipi"),
	wasi("fd_pwrite", "ipilp"),
	wasi("fd_read", "ipip"),
	wasi("fd_readdir", "ipilp"),
	wasi("fd_renumber", "ii"),
	wasi("fd_seek", "ilip"),
	wasi("fd_sync", "i"),
	wasi("fd_tell", "ip"),
	wasi("fd_write", "ipip"),
	wasi("path_create_directory", "ipi"),
	wasi("path_filestat_get", "iipip"),
	wasi("path_filestat_set_times", "iipilli"),
	wasi("path_link", "iipiipi"),
	wasi("path_open", "iipiillip"),
	wasi("path_readlink", "ipipip"),
	wasi("path_remove_directory", "ipi"),
	wasi("path_rename", "ipiipi"),
	wasi("path_symlink", "piipi"),
	wasi("path_unlink_file", "ipi"),
	wasi("poll_oneoff", "ppip"),
	wasi("proc_exit", "i"),
	wasi("proc_raise", "i"),
	wasi("sched_yield", ""),
	wasi("random_get", "pi"),
	wasi("sock_accept", "iip"),
	wasi("sock_recv", "ipiipp"),
	wasi("sock_send", "ipiip"),
	wasi("sock_shutdown", "ii"),
}
