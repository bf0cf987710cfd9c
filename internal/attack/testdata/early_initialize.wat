;; Asks for something before its entry is called, in _initialize: the first byte of the input says for what.
(module
  (import "reprise_v1" "input" (func $input (param i32 i32) (result i32)))
  (import "reprise_v1" "effect" (func $effect (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "reprise_v1" "activity" (func $activity (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "reprise_v1" "timer" (func $timer (param i64) (result i32)))
  (import "reprise_v1" "signal" (func $signal (param i32 i32) (result i32)))
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "test.step")
  (func $early (export "_initialize")
    (local $what i32)
    (drop (call $input (i32.const 0x1000) (i32.const 0x1000)))
    (local.set $what (i32.load8_u (i32.const 0x1000)))
    (if (i32.eq (local.get $what) (i32.const 0x65)) ;; e
      (then (drop (call $effect (i32.const 0) (i32.const 9) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))))
    (if (i32.eq (local.get $what) (i32.const 0x61)) ;; a
      (then (drop (call $activity (i32.const 0) (i32.const 9) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))))
    (if (i32.eq (local.get $what) (i32.const 0x74)) ;; t
      (then (drop (call $timer (i64.const 1)))))
    (if (i32.eq (local.get $what) (i32.const 0x73)) ;; s
      (then (drop (call $signal (i32.const 0) (i32.const 4)))))
    (if (i32.eq (local.get $what) (i32.const 0x77)) ;; w
      (then (drop (call $wait (i32.const 0x2000) (i32.const 1) (i64.const -1) (i32.const 0x2000) (i32.const 1)))))
    (if (i32.eq (local.get $what) (i32.const 0x70)) ;; p: one relative clock of a second
      (then
        (i64.store (i32.const 0x2018) (i64.const 1000000000))
        (drop (call $poll_oneoff (i32.const 0x2000) (i32.const 0x3000) (i32.const 1) (i32.const 0x4000))))))
  (func (export "reprise_run") (result i32) (i32.const 0)))
