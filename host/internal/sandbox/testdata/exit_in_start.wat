;; A reactor whose start section ends it.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (func $start (call $proc_exit (i32.const 0)))
  (start $start)
  (func (export "reprise_run")))
