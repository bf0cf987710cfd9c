;; The effects "test.b" and "test.a", one after the other, then a wait for the signal "go". divergeA
;; has them the other way round, so a journal of one does not fit the other.
(module
  (import "reprise_v1" "output" (func $output (param i32 i32)))
  (import "reprise_v1" "effect" (func $effect (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "reprise_v1" "signal" (func $signal (param i32 i32) (result i32)))
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (import "reprise_v1" "status" (func $status (param i32) (result i32)))
  (memory (export "memory") 3)
  (data (i32.const 0) "test.btest.ago")
  ;; Waits for one handle and returns its status.
  (func $await (param $h i32) (result i32)
    (i32.store (i32.const 0x1000) (local.get $h))
    (drop (call $wait (i32.const 0x1000) (i32.const 1) (i64.const -1) (i32.const 0x1800) (i32.const 1)))
    (call $status (local.get $h)))
  (func (export "reprise_run") (result i32)
    (drop (call $await (call $effect (i32.const 0) (i32.const 6) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))))
    (drop (call $await (call $effect (i32.const 6) (i32.const 6) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))))
    (drop (call $await (call $signal (i32.const 12) (i32.const 2))))
    (call $output (i32.const 0) (i32.const 12))
    (i32.const 0)))
