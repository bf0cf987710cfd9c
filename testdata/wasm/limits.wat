;; Uses as much as the input says: a letter, and a number in 4 bytes, least significant first.
;;   m  grows its memory to so many pages and puts out "grown" or "refused"
;;   d  nests so many calls and puts out "done"
;;   g  computes so many rounds of a loop and puts out "done"
;;   r  computes 10 rounds before each of so many timers and puts out "done"
(module
  (import "reprise_v1" "input" (func $input (param i32 i32) (result i32)))
  (import "reprise_v1" "output" (func $output (param i32 i32)))
  (import "reprise_v1" "timer" (func $timer (param i64) (result i32)))
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (data (i32.const 0) "donegrownrefused")
  (func $deeper (param $n i32)
    (if (local.get $n) (then (call $deeper (i32.sub (local.get $n) (i32.const 1))))))
  (func $rounds (param $n i32)
    (loop $again
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $again (i32.gt_s (local.get $n) (i32.const 0)))))
  (func $timers (param $n i32)
    (loop $again
      (call $rounds (i32.const 10))
      (i32.store (i32.const 0x1000) (call $timer (i64.const 1000)))
      (drop (call $wait (i32.const 0x1000) (i32.const 1) (i64.const -1) (i32.const 0x1800) (i32.const 1)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $again (i32.gt_s (local.get $n) (i32.const 0)))))
  (func (export "reprise_run") (result i32)
    (local $kind i32) (local $n i32)
    (drop (call $input (i32.const 0x2000) (i32.const 5)))
    (local.set $kind (i32.load8_u (i32.const 0x2000)))
    (local.set $n (i32.load (i32.const 0x2001)))
    (if (i32.eq (local.get $kind) (i32.const 109)) (then
      (if (i32.lt_s (memory.grow (i32.sub (local.get $n) (memory.size))) (i32.const 0))
        (then (call $output (i32.const 9) (i32.const 7)))
        (else (call $output (i32.const 4) (i32.const 5))))
      (return (i32.const 0))))
    (if (i32.eq (local.get $kind) (i32.const 100)) (then (call $deeper (local.get $n))))
    (if (i32.eq (local.get $kind) (i32.const 103)) (then (call $rounds (local.get $n))))
    (if (i32.eq (local.get $kind) (i32.const 114)) (then (call $timers (local.get $n))))
    (call $output (i32.const 0) (i32.const 4))
    (i32.const 0)))
