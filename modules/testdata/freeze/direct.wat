;; reprise_run calls $outer, which calls $inner twice, which waits. $aside is called and waits for nothing.
(module
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func $aside (result i32) (i32.const 7))
  (func $inner (result i32) (call $wait (i32.const 0) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0)))
  (func $outer (drop (call $aside)) (drop (call $inner)) (drop (call $inner)))
  (func (export "reprise_run") (call $outer)))
