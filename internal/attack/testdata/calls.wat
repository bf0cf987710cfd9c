;; Calls the host as its input says, so that an attack is a table in Go and not a module of its own.
;;
;; The input is pulled to 0x10000 and read as records of 64 bytes: the number of an operation, up to six
;; arguments and room for the result, eight bytes each. An operation of number 0 ends the entry with
;; success; a record may change those behind it. What an attack brings besides stands behind its records.
;; Memory from 0x200000 on is its own to use.
(module
  (import "reprise_v1" "input" (func $input (param i32 i32) (result i32)))
  (import "reprise_v1" "output" (func $output (param i32 i32)))
  (import "reprise_v1" "fail" (func $fail (param i32 i32)))
  (import "reprise_v1" "entry_kind" (func $entry_kind (result i32)))
  (import "reprise_v1" "entry" (func $entry (param i32 i32) (result i32)))
  (import "reprise_v1" "info" (func $info (param i32 i32) (result i32)))
  (import "reprise_v1" "effect" (func $effect (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "reprise_v1" "activity" (func $activity (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "reprise_v1" "timer" (func $timer (param i64) (result i32)))
  (import "reprise_v1" "signal" (func $signal (param i32 i32) (result i32)))
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (import "reprise_v1" "status" (func $status (param i32) (result i32)))
  (import "reprise_v1" "result" (func $result (param i32 i32 i32) (result i32)))
  (import "reprise_v1" "cancel" (func $cancel (param i32)))
  (import "reprise_v1" "drop" (func $drop (param i32)))
  (import "reprise_v1" "random" (func $random (param i32 i32)))
  (import "reprise_v1" "asset" (func $asset (param i32 i32 i32 i32) (result i32)))
  (import "reprise_v1" "log" (func $log (param i32 i32 i32)))
  (import "reprise_v1" "publish" (func $publish (param i32 i32 i32 i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock_time_get (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_get" (func $args_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_fdstat_get" (func $fd_fdstat_get (param i32 i32) (result i32)))
  (memory (export "memory") 96 65536)
  (type $operation (func (result i64)))
  (global $pc (mut i32) (i32.const 0x10000))
  (table 37 funcref)
  (elem (i32.const 1) $op_input $op_output $op_fail $op_entry_kind $op_entry $op_info $op_effect $op_activity $op_timer $op_signal $op_wait $op_status $op_result $op_cancel $op_drop $op_random $op_asset $op_log $op_publish $op_proc_exit $op_fd_write $op_fd_read $op_random_get $op_poll_oneoff $op_clock_time_get $op_args_get $op_fd_fdstat_get
    $op_store $op_move $op_fill $op_copy $op_size $op_grow $op_table_grow $op_trap $op_again)

  ;; Arguments of the record at $pc, as i32 and as i64.
  (func $l (param $n i32) (result i64)
    (i64.load (i32.add (global.get $pc) (i32.shl (local.get $n) (i32.const 3)))))
  (func $i (param $n i32) (result i32) (i32.wrap_i64 (call $l (local.get $n))))

  (func (export "reprise_run") (result i32)
    (local $op i32)
    (drop (call $input (i32.const 0x10000) (i32.const 0x1f0000)))
    (block $done (loop $next
      (local.set $op (i32.load (global.get $pc)))
      (br_if $done (i32.eqz (local.get $op)))
      (i64.store offset=56 (global.get $pc) (call_indirect (type $operation) (local.get $op)))
      (global.set $pc (i32.add (global.get $pc) (i32.const 64)))
      (br $next)))
    (i32.const 0))

  ;; The host's functions.
  (func $op_input (result i64) (i64.extend_i32_s (call $input (call $i (i32.const 1)) (call $i (i32.const 2)))))
  (func $op_output (result i64) (call $output (call $i (i32.const 1)) (call $i (i32.const 2))) (i64.const 0))
  (func $op_fail (result i64) (call $fail (call $i (i32.const 1)) (call $i (i32.const 2))) (i64.const 0))
  (func $op_entry_kind (result i64) (i64.extend_i32_s (call $entry_kind)))
  (func $op_entry (result i64) (i64.extend_i32_s (call $entry (call $i (i32.const 1)) (call $i (i32.const 2)))))
  (func $op_info (result i64) (i64.extend_i32_s (call $info (call $i (i32.const 1)) (call $i (i32.const 2)))))
  (func $op_effect (result i64) (i64.extend_i32_s (call $effect (call $i (i32.const 1)) (call $i (i32.const 2)) (call $i (i32.const 3)) (call $i (i32.const 4)) (call $i (i32.const 5)) (call $i (i32.const 6)))))
  (func $op_activity (result i64) (i64.extend_i32_s (call $activity (call $i (i32.const 1)) (call $i (i32.const 2)) (call $i (i32.const 3)) (call $i (i32.const 4)) (call $i (i32.const 5)) (call $i (i32.const 6)))))
  (func $op_timer (result i64) (i64.extend_i32_s (call $timer (call $l (i32.const 1)))))
  (func $op_signal (result i64) (i64.extend_i32_s (call $signal (call $i (i32.const 1)) (call $i (i32.const 2)))))
  (func $op_wait (result i64) (i64.extend_i32_s (call $wait (call $i (i32.const 1)) (call $i (i32.const 2)) (call $l (i32.const 3)) (call $i (i32.const 4)) (call $i (i32.const 5)))))
  (func $op_status (result i64) (i64.extend_i32_s (call $status (call $i (i32.const 1)))))
  (func $op_result (result i64) (i64.extend_i32_s (call $result (call $i (i32.const 1)) (call $i (i32.const 2)) (call $i (i32.const 3)))))
  (func $op_cancel (result i64) (call $cancel (call $i (i32.const 1))) (i64.const 0))
  (func $op_drop (result i64) (call $drop (call $i (i32.const 1))) (i64.const 0))
  (func $op_random (result i64) (call $random (call $i (i32.const 1)) (call $i (i32.const 2))) (i64.const 0))
  (func $op_asset (result i64) (i64.extend_i32_s (call $asset (call $i (i32.const 1)) (call $i (i32.const 2)) (call $i (i32.const 3)) (call $i (i32.const 4)))))
  (func $op_log (result i64) (call $log (call $i (i32.const 1)) (call $i (i32.const 2)) (call $i (i32.const 3))) (i64.const 0))
  (func $op_publish (result i64) (call $publish (call $i (i32.const 1)) (call $i (i32.const 2)) (call $i (i32.const 3)) (call $i (i32.const 4))) (i64.const 0))
  (func $op_proc_exit (result i64) (call $proc_exit (call $i (i32.const 1))) (i64.const 0))
  (func $op_fd_write (result i64) (i64.extend_i32_s (call $fd_write (call $i (i32.const 1)) (call $i (i32.const 2)) (call $i (i32.const 3)) (call $i (i32.const 4)))))
  (func $op_fd_read (result i64) (i64.extend_i32_s (call $fd_read (call $i (i32.const 1)) (call $i (i32.const 2)) (call $i (i32.const 3)) (call $i (i32.const 4)))))
  (func $op_random_get (result i64) (i64.extend_i32_s (call $random_get (call $i (i32.const 1)) (call $i (i32.const 2)))))
  (func $op_poll_oneoff (result i64) (i64.extend_i32_s (call $poll_oneoff (call $i (i32.const 1)) (call $i (i32.const 2)) (call $i (i32.const 3)) (call $i (i32.const 4)))))
  (func $op_clock_time_get (result i64) (i64.extend_i32_s (call $clock_time_get (call $i (i32.const 1)) (call $l (i32.const 2)) (call $i (i32.const 3)))))
  (func $op_args_get (result i64) (i64.extend_i32_s (call $args_get (call $i (i32.const 1)) (call $i (i32.const 2)))))
  (func $op_fd_fdstat_get (result i64) (i64.extend_i32_s (call $fd_fdstat_get (call $i (i32.const 1)) (call $i (i32.const 2)))))

  ;; The guest's own.
  ;; store: address, value.
  (func $op_store (result i64) (i64.store (call $i (i32.const 1)) (call $l (i32.const 2))) (i64.const 0))
  ;; move: to, from: eight bytes.
  (func $op_move (result i64) (i64.store (call $i (i32.const 1)) (i64.load (call $i (i32.const 2)))) (i64.const 0))
  ;; fill: address, byte, length.
  (func $op_fill (result i64) (memory.fill (call $i (i32.const 1)) (call $i (i32.const 2)) (call $i (i32.const 3))) (i64.const 0))
  ;; copy: to, from, length.
  (func $op_copy (result i64) (memory.copy (call $i (i32.const 1)) (call $i (i32.const 2)) (call $i (i32.const 3))) (i64.const 0))
  (func $op_size (result i64) (i64.extend_i32_u (memory.size)))
  ;; grow: pages.
  (func $op_grow (result i64) (i64.extend_i32_s (memory.grow (call $i (i32.const 1)))))
  ;; table_grow: entries.
  (func $op_table_grow (result i64) (i64.extend_i32_s (table.grow 0 (ref.null func) (call $i (i32.const 1)))))
  (func $op_trap (result i64) unreachable)
  ;; again: counter, record: goes to the record until the counter at that address is 0.
  (func $op_again (result i64) (local $at i32)
    (local.set $at (call $i (i32.const 1)))
    (i64.store (local.get $at) (i64.sub (i64.load (local.get $at)) (i64.const 1)))
    (if (i64.ne (i64.load (local.get $at)) (i64.const 0))
      (then (global.set $pc (i32.sub (call $i (i32.const 2)) (i32.const 64)))))
    (i64.const 0)))
