;; The interpreter of the soak: a workflow "soak" and an activity "work" that both carry out the program in their
;; input. program.go writes programs and says what each command means. Every completion is mixed into a checksum of
;; what was seen, in order, and the guest's time after it into a second one; requests carry both to the ledger, so
;; that a run that sees something else after a crash is found out.
;;
;; Memory: 0x1000 wait set, 0x1800 the handle that is ready, 0x2000 handles by slot, 0x3000 by slot whether it is
;; done, 0x4000 texts, 0x8000 a request, 0x10000 the program, 0x20000 an outcome.
(module
  (import "reprise_v1" "entry_kind" (func $entry_kind (result i32)))
  (import "reprise_v1" "input" (func $input (param i32 i32) (result i32)))
  (import "reprise_v1" "output" (func $output (param i32 i32)))
  (import "reprise_v1" "fail" (func $fail (param i32 i32)))
  (import "reprise_v1" "effect" (func $effect (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "reprise_v1" "activity" (func $activity (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "reprise_v1" "timer" (func $timer (param i64) (result i32)))
  (import "reprise_v1" "signal" (func $signal (param i32 i32) (result i32)))
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (import "reprise_v1" "status" (func $status (param i32) (result i32)))
  (import "reprise_v1" "result" (func $result (param i32 i32 i32) (result i32)))
  (import "reprise_v1" "cancel" (func $cancel (param i32)))
  (import "reprise_v1" "drop" (func $drop (param i32)))
  (import "reprise_v1" "cancel_handle" (func $cancel_handle (result i32)))
  (import "reprise_v1" "now" (func $now (result i64)))
  (import "reprise_v1" "random" (func $random (param i32 i32)))
  (import "reprise_v1" "publish" (func $publish (param i32 i32 i32 i32)))
  (memory (export "memory") 4)
  (data (i32.const 0x100) "{\"sdk\":\"wat\",\"workflows\":[\"soak\"],\"activities\":[\"work\"]}")
  (global $pc (mut i32) (i32.const 0x10000))
  ;; Both checksums are FNV-1a.
  (global $order (mut i64) (i64.const 0xcbf29ce484222325))
  (global $env (mut i64) (i64.const 0xcbf29ce484222325))

  (func $u8 (result i32)
    (global.set $pc (i32.add (global.get $pc) (i32.const 1)))
    (i32.load8_u (i32.sub (global.get $pc) (i32.const 1))))
  (func $u16 (result i32)
    (global.set $pc (i32.add (global.get $pc) (i32.const 2)))
    (i32.load16_u (i32.sub (global.get $pc) (i32.const 2))))
  (func $i64 (result i64)
    (global.set $pc (i32.add (global.get $pc) (i32.const 8)))
    (i64.load (i32.sub (global.get $pc) (i32.const 8))))
  ;; Steps over n bytes and returns where they begin.
  (func $bytes (param $n i32) (result i32)
    (global.set $pc (i32.add (global.get $pc) (local.get $n)))
    (i32.sub (global.get $pc) (local.get $n)))

  (func $fnv (param $sum i64) (param $p i32) (param $n i32) (result i64)
    (local $end i32)
    (local.set $end (i32.add (local.get $p) (local.get $n)))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $p) (local.get $end)))
      (local.set $sum (i64.mul (i64.xor (local.get $sum) (i64.load8_u (local.get $p))) (i64.const 0x100000001b3)))
      (local.set $p (i32.add (local.get $p) (i32.const 1)))
      (br $next)))
    (local.get $sum))
  ;; Writes 16 hex digits.
  (func $hex (param $p i32) (param $v i64)
    (local $i i32) (local $d i32)
    (loop $next
      (local.set $d (i32.wrap_i64 (i64.and (i64.shr_u (local.get $v) (i64.extend_i32_u (i32.sub (i32.const 60) (i32.mul (local.get $i) (i32.const 4))))) (i64.const 15))))
      (i32.store8 (i32.add (local.get $p) (local.get $i))
        (i32.add (local.get $d) (select (i32.const 87) (i32.const 48) (i32.gt_u (local.get $d) (i32.const 9)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 16)))))

  (func $handle (param $slot i32) (result i32)
    (i32.load (i32.add (i32.const 0x2000) (i32.shl (local.get $slot) (i32.const 2)))))
  (func $set (param $slot i32) (param $h i32)
    (i32.store (i32.add (i32.const 0x2000) (i32.shl (local.get $slot) (i32.const 2))) (local.get $h))
    (i32.store8 (i32.add (i32.const 0x3000) (local.get $slot)) (i32.const 0)))
  (func $done (param $slot i32)
    (i32.store8 (i32.add (i32.const 0x3000) (local.get $slot)) (i32.const 1)))
  ;; Reads the outcome of a handle to 0x20000; more than there is room for is a trap.
  (func $outcome (param $h i32) (result i32)
    (local $n i32)
    (local.set $n (call $result (local.get $h) (i32.const 0x20000) (i32.const 0x20000)))
    (if (i32.gt_u (local.get $n) (i32.const 0x20000)) (then (unreachable)))
    (local.get $n))

  ;; Mixes what a wait came to: a handle with its status and outcome, or -1 for nothing.
  (func $saw (param $h i32)
    (i32.store (i32.const 0x4000) (local.get $h))
    (i32.store8 (i32.const 0x4004) (i32.const 0))
    (if (i32.ge_s (local.get $h) (i32.const 0))
      (then (i32.store8 (i32.const 0x4004) (call $status (local.get $h)))))
    (global.set $order (call $fnv (global.get $order) (i32.const 0x4000) (i32.const 5)))
    (if (i32.ge_s (local.get $h) (i32.const 0))
      (then (global.set $order (call $fnv (global.get $order) (i32.const 0x20000) (call $outcome (local.get $h))))))
    (i64.store (i32.const 0x4000) (call $now))
    (global.set $env (call $fnv (global.get $env) (i32.const 0x4000) (i32.const 8))))

  ;; Waits once for those of n slots at p that are not done. Returns -1 when all are, 0 when nothing came, 1 when
  ;; something did.
  (func $once (param $p i32) (param $n i32) (param $timeout i64) (result i32)
    (local $i i32) (local $size i32) (local $h i32)
    (block $listed (loop $next
      (br_if $listed (i32.ge_u (local.get $i) (local.get $n)))
      (if (i32.eqz (i32.load8_u (i32.add (i32.const 0x3000) (i32.load8_u (i32.add (local.get $p) (local.get $i))))))
        (then
          (i32.store (i32.add (i32.const 0x1000) (i32.shl (local.get $size) (i32.const 2)))
            (call $handle (i32.load8_u (i32.add (local.get $p) (local.get $i)))))
          (local.set $size (i32.add (local.get $size) (i32.const 1)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $next)))
    (if (i32.eqz (local.get $size)) (then (return (i32.const -1))))
    (if (i32.eqz (call $wait (i32.const 0x1000) (local.get $size) (local.get $timeout) (i32.const 0x1800) (i32.const 1)))
      (then (call $saw (i32.const -1)) (return (i32.const 0))))
    (local.set $h (i32.load (i32.const 0x1800)))
    (call $saw (local.get $h))
    (local.set $i (i32.const 0))
    (loop $find
      (if (i32.eq (call $handle (i32.load8_u (i32.add (local.get $p) (local.get $i)))) (local.get $h))
        (then (call $done (i32.load8_u (i32.add (local.get $p) (local.get $i)))) (return (i32.const 1))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $find (i32.lt_u (local.get $i) (local.get $n))))
    (unreachable)) ;; the host named a handle that was not waited for

  ;; effect and activity: slot, name, options, request, where in it the checksums go and which slot's outcome.
  (func $request (param $activity i32)
    (local $slot i32) (local $name i32) (local $name_len i32) (local $opts i32) (local $opts_len i32)
    (local $in i32) (local $in_len i32) (local $at i32) (local $from i32)
    (local.set $slot (call $u8))
    (local.set $name (call $bytes (local.tee $name_len (call $u8))))
    (local.set $opts (call $bytes (local.tee $opts_len (call $u16))))
    (local.set $in (call $bytes (local.tee $in_len (call $u16))))
    (memory.copy (i32.const 0x8000) (local.get $in) (local.get $in_len))
    (if (i32.ne (local.tee $at (call $u16)) (i32.const 0xffff))
      (then
        (call $hex (i32.add (i32.const 0x8000) (local.get $at)) (global.get $order))
        (call $hex (i32.add (i32.const 0x8010) (local.get $at)) (global.get $env))))
    (local.set $from (call $u8))
    (local.set $at (call $u16))
    (if (i32.ne (local.get $from) (i32.const 0xff))
      (then
        (drop (call $outcome (call $handle (local.get $from))))
        (memory.copy (i32.add (i32.const 0x8000) (local.get $at)) (i32.const 0x20000) (i32.const 8))))
    (call $set (local.get $slot) (if (result i32) (local.get $activity)
      (then (call $activity (local.get $name) (local.get $name_len) (i32.const 0x8000) (local.get $in_len) (local.get $opts) (local.get $opts_len)))
      (else (call $effect (local.get $name) (local.get $name_len) (i32.const 0x8000) (local.get $in_len) (local.get $opts) (local.get $opts_len))))))

  ;; await: mode (0 all, 1 one, 2 once with the timeout), timeout, slots.
  (func $await
    (local $mode i32) (local $timeout i64) (local $p i32) (local $n i32) (local $came i32)
    (local.set $mode (call $u8))
    (local.set $timeout (call $i64))
    (local.set $p (call $bytes (local.tee $n (call $u8))))
    (loop $again
      (local.set $came (call $once (local.get $p) (local.get $n) (local.get $timeout)))
      (br_if $again (i32.and (i32.eqz (local.get $mode)) (i32.ge_s (local.get $came) (i32.const 0))))))

  ;; The checksums as text at 0x4000.
  (func $sums
    (call $hex (i32.const 0x4000) (global.get $order))
    (call $hex (i32.const 0x4010) (global.get $env)))

  (func (export "reprise_run") (result i32)
    (local $op i32) (local $slot i32) (local $n i32) (local $p i32)
    (if (i32.eq (call $entry_kind) (i32.const 3))
      (then (call $output (i32.const 0x100) (i32.const 56)) (return (i32.const 0))))
    (if (i32.gt_u (call $input (i32.const 0x10000) (i32.const 0x10000)) (i32.const 0x10000)) (then (unreachable)))
    (loop $next
      (local.set $op (call $u8))
      (if (i32.eqz (local.get $op)) ;; end
        (then
          (call $sums)
          ;; An activity's attempts are not replayed: the times that it saw are its own.
          (call $output (i32.const 0x4000) (select (i32.const 16) (i32.const 32) (i32.eq (call $entry_kind) (i32.const 1))))
          (return (i32.const 0))))
      (if (i32.eq (local.get $op) (i32.const 1)) (then (call $request (i32.const 0)) (br $next)))
      (if (i32.eq (local.get $op) (i32.const 2)) (then (call $request (i32.const 1)) (br $next)))
      (if (i32.eq (local.get $op) (i32.const 3)) ;; timer: slot, nanoseconds
        (then (local.set $slot (call $u8)) (call $set (local.get $slot) (call $timer (call $i64))) (br $next)))
      (if (i32.eq (local.get $op) (i32.const 4)) ;; signal: slot, name
        (then
          (local.set $slot (call $u8))
          (local.set $p (call $bytes (local.tee $n (call $u8))))
          (call $set (local.get $slot) (call $signal (local.get $p) (local.get $n)))
          (br $next)))
      (if (i32.eq (local.get $op) (i32.const 5)) (then (call $await) (br $next)))
      (if (i32.eq (local.get $op) (i32.const 6)) ;; cancel: slot
        (then (local.set $slot (call $u8)) (call $cancel (call $handle (local.get $slot))) (call $done (local.get $slot)) (br $next)))
      (if (i32.eq (local.get $op) (i32.const 7)) ;; publish: key
        (then
          (local.set $p (call $bytes (local.tee $n (call $u8))))
          (call $sums)
          (call $publish (local.get $p) (local.get $n) (i32.const 0x4000) (i32.const 32))
          (br $next)))
      (if (i32.eq (local.get $op) (i32.const 8)) ;; random
        (then
          (call $random (i32.const 0x4000) (i32.const 8))
          (global.set $env (call $fnv (global.get $env) (i32.const 0x4000) (i32.const 8)))
          (br $next)))
      (if (i32.eq (local.get $op) (i32.const 9)) ;; the run's cancellation: slot
        (then (call $set (call $u8) (call $cancel_handle)) (br $next)))
      (if (i32.eq (local.get $op) (i32.const 10)) ;; fail: failure
        (then
          (local.set $p (call $bytes (local.tee $n (call $u16))))
          (call $fail (local.get $p) (local.get $n))
          (return (i32.const 1))))
      (if (i32.eq (local.get $op) (i32.const 11)) ;; drop: slot, done
        (then (call $drop (call $handle (call $u8))) (br $next)))
      (unreachable))
    (unreachable)))
