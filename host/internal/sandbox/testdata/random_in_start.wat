;; A reactor whose start section asks for random bytes.
(module
  (import "reprise_v1" "random" (func $random (param i32 i32)))
  (memory (export "memory") 1)
  (func $start (call $random (i32.const 0) (i32.const 8)))
  (start $start)
  (func (export "reprise_run")))
