;; Its initialisation writes a line: no image of it can be for every run.
(module
  (import "reprise_v1" "output" (func $output (param i32 i32)))
  (import "reprise_v1" "log" (func $log (param i32 i32 i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
  (memory (export "memory") 1)
  (table $t 2 funcref)
  (elem (i32.const 0) $nop)
  (data (i32.const 16) "abc")
  
  (func $nop)
  (func (export "_initialize")
    (call $log (i32.const 1) (i32.const 16) (i32.const 3)))
  (func (export "reprise_run") (result i32)
    (call $output (i32.const 0) (i32.const 24))
    (i32.const 0)))
