;; The adapter between QuickJS-NG (imported as "qjs") and the contract reprise_v1. wasm-merge joins the two into one module;
;; see scripts/engine. It has no memory and no stack of its own: what it needs for longer than a call comes from the engine's
;; allocator, and its constants are stored there (passive data would keep an instance from being frozen).
;;
;; JavaScript sees one function, __reprise(op, a, b, c); the numbers of op are those of src/host.ts. The script is the asset
;; main.js. It leaves functions on the global object: __turn settles the handles that are ready, __crash(error) makes a
;; failure of an exception that nobody caught, __query answers a query in a copy of the instance that waits.
;;
;; The run waits in reprise_run and nowhere else, when no JavaScript is on the stack. So a waiting instance has one frame of
;; WebAssembly, and only this function has to be able to save it.
(module
  (import "qjs" "memory" (memory 1))
  (import "qjs" "wasm_malloc" (func $malloc (param i32) (result i32)))
  (import "qjs" "wasm_free" (func $free (param i32)))
  (import "qjs" "qjs_init" (func $qjs_init (result i32)))
  (import "qjs" "qjs_set_promise_rejection_handler" (func $qjs_set_promise_rejection_handler (param i32)))
  (import "qjs" "qjs_set_max_stack_size" (func $qjs_set_max_stack_size (param i32)))
  (import "qjs" "qjs_eval" (func $qjs_eval (param i32 i32 i32 i32) (result i32)))
  (import "qjs" "qjs_call" (func $qjs_call (param i32 i32 i32 i32) (result i32)))
  (import "qjs" "qjs_new_string" (func $qjs_new_string (param i32 i32) (result i32)))
  (import "qjs" "qjs_new_number" (func $qjs_new_number (param f64) (result i32)))
  (import "qjs" "qjs_get_undefined" (func $qjs_get_undefined (result i32)))
  (import "qjs" "qjs_get_float64" (func $qjs_get_float64 (param i32) (result f64)))
  (import "qjs" "qjs_get_string_len" (func $qjs_get_string_len (param i32 i32) (result i32)))
  (import "qjs" "qjs_free_cstring" (func $qjs_free_cstring (param i32)))
  (import "qjs" "qjs_is_array_buffer" (func $qjs_is_array_buffer (param i32) (result i32)))
  (import "qjs" "qjs_get_array_buffer" (func $qjs_get_array_buffer (param i32 i32) (result i32)))
  (import "qjs" "qjs_new_array_buffer" (func $qjs_new_array_buffer (param i32 i32) (result i32)))
  (import "qjs" "qjs_is_exception" (func $qjs_is_exception (param i32) (result i32)))
  (import "qjs" "qjs_is_function" (func $qjs_is_function (param i32) (result i32)))
  (import "qjs" "qjs_get_exception" (func $qjs_get_exception (result i32)))
  (import "qjs" "qjs_get_global" (func $qjs_get_global (result i32)))
  (import "qjs" "qjs_get_prop_string" (func $qjs_get_prop_string (param i32 i32) (result i32)))
  (import "qjs" "qjs_set_prop_string" (func $qjs_set_prop_string (param i32 i32 i32) (result i32)))
  (import "qjs" "qjs_new_host_function" (func $qjs_new_host_function (param i32 i32 i32) (result i32)))
  (import "qjs" "qjs_is_job_pending" (func $qjs_is_job_pending (result i32)))
  (import "qjs" "qjs_execute_pending_job" (func $qjs_execute_pending_job (result i32)))
  (import "qjs" "qjs_free_value" (func $qjs_free_value (param i32)))

  (import "reprise_v1" "entry_kind" (func $entry_kind (result i32)))
  (import "reprise_v1" "entry" (func $entry (param i32 i32) (result i32)))
  (import "reprise_v1" "info" (func $info (param i32 i32) (result i32)))
  (import "reprise_v1" "input" (func $input (param i32 i32) (result i32)))
  (import "reprise_v1" "output" (func $output (param i32 i32)))
  (import "reprise_v1" "fail" (func $fail (param i32 i32)))
  (import "reprise_v1" "effect" (func $effect (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "reprise_v1" "activity" (func $activity (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "reprise_v1" "child" (func $child (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "reprise_v1" "continue_as_new" (func $continue_as_new (param i32 i32)))
  (import "reprise_v1" "timer" (func $timer (param i64) (result i32)))
  (import "reprise_v1" "signal" (func $signal (param i32 i32) (result i32)))
  (import "reprise_v1" "wait" (func $wait (param i32 i32 i64 i32 i32) (result i32)))
  (import "reprise_v1" "status" (func $status (param i32) (result i32)))
  (import "reprise_v1" "result" (func $result (param i32 i32 i32) (result i32)))
  (import "reprise_v1" "cancel" (func $cancel (param i32)))
  (import "reprise_v1" "drop" (func $drop (param i32)))
  (import "reprise_v1" "cancel_handle" (func $cancel_handle (result i32)))
  (import "reprise_v1" "random" (func $random (param i32 i32)))
  (import "reprise_v1" "asset" (func $asset (param i32 i32 i32 i32) (result i32)))
  (import "reprise_v1" "log" (func $log (param i32 i32 i32)))
  (import "reprise_v1" "publish" (func $publish (param i32 i32 i32 i32)))

  (global $constants (mut i32) (i32.const 0))  ;; "__reprise", "main.js" at 10, "__turn" at 18, "__crash" at 25, "__rejected" at 33,
  ;; "__query" at 44, each with a NUL
  (global $args (mut i32) (i32.const 0))       ;; 4 pairs (pointer, length): the strings and bytes that a call was given
  (global $borrowed (mut i32) (i32.const 0))   ;; a bit for each pair that is of an ArrayBuffer, which stays what it is
  (global $watched (mut i32) (i32.const 0))    ;; the handles to wait for, $count of them
  (global $ready (mut i32) (i32.const 0))      ;; those that the last wait gave, from $next to $end
  (global $room (mut i32) (i32.const 0))       ;; handles that either has room for
  (global $count (mut i32) (i32.const 0))
  (global $requests (mut i32) (i32.const 0))   ;; of those watched, all but handle 0
  (global $next (mut i32) (i32.const 0))
  (global $end (mut i32) (i32.const 0))
  (global $rejections (mut i32) (i32.const 0)) ;; whether __rejected was told of any since it was asked to tell
  (global $ended (mut i32) (i32.const 0))      ;; 0: the run goes on; 1: it succeeded; 2: it failed

  (func $number (param $argv i32) (param $i i32) (result f64)
    (call $qjs_get_float64 (i32.load (i32.add (local.get $argv) (i32.shl (local.get $i) (i32.const 2))))))

  (func $int (param $argv i32) (param $i i32) (result i32)
    (i32.trunc_sat_f64_s (call $number (local.get $argv) (local.get $i))))

  ;; text makes bytes of argument i, as pair i of $args: of a string its UTF-8, of an ArrayBuffer what it holds.
  (func $text (param $argv i32) (param $i i32)
    (local $pair i32) (local $value i32)
    (local.set $pair (i32.add (global.get $args) (i32.shl (local.get $i) (i32.const 3))))
    (local.set $value (i32.load (i32.add (local.get $argv) (i32.shl (local.get $i) (i32.const 2)))))
    (i32.store offset=4 (local.get $pair) (i32.const 0))
    (if (call $qjs_is_array_buffer (local.get $value))
      (then
        (global.set $borrowed (i32.or (global.get $borrowed) (i32.shl (i32.const 1) (local.get $i))))
        (i32.store (local.get $pair) (call $qjs_get_array_buffer (local.get $value) (i32.add (local.get $pair) (i32.const 4)))))
      (else
        (i32.store (local.get $pair)
          (call $qjs_get_string_len (local.get $value) (i32.add (local.get $pair) (i32.const 4)))))))

  (func $ptr (param $i i32) (result i32)
    (i32.load (i32.add (global.get $args) (i32.shl (local.get $i) (i32.const 3)))))

  (func $len (param $i i32) (result i32)
    (i32.load offset=4 (i32.add (global.get $args) (i32.shl (local.get $i) (i32.const 3)))))

  ;; release gives back what text made, whichever of the pairs were used.
  (func $release
    (local $i i32)
    (local.set $i (i32.const 1))
    (loop $again
      (if (call $ptr (local.get $i))
        (then
          (if (i32.eqz (i32.and (i32.shr_u (global.get $borrowed) (local.get $i)) (i32.const 1)))
            (then (call $qjs_free_cstring (call $ptr (local.get $i)))))
          (i32.store (i32.add (global.get $args) (i32.shl (local.get $i) (i32.const 3))) (i32.const 0))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $i) (i32.const 4))))
    (global.set $borrowed (i32.const 0)))

  ;; pull calls one of the functions that give bytes: 1 entry, 2 info, 3 input, 11 result, 16 asset.
  (func $pull (param $op i32) (param $handle i32) (param $to i32) (param $cap i32) (result i32)
    (if (i32.eq (local.get $op) (i32.const 1)) (then (return (call $entry (local.get $to) (local.get $cap)))))
    (if (i32.eq (local.get $op) (i32.const 2)) (then (return (call $info (local.get $to) (local.get $cap)))))
    (if (i32.eq (local.get $op) (i32.const 3)) (then (return (call $input (local.get $to) (local.get $cap)))))
    (if (i32.eq (local.get $op) (i32.const 11))
      (then (return (call $result (local.get $handle) (local.get $to) (local.get $cap)))))
    (call $asset (call $ptr (i32.const 1)) (call $len (i32.const 1)) (local.get $to) (local.get $cap)))

  ;; pulled makes a string of them, or an ArrayBuffer; undefined when there is no such asset.
  (func $pulled (param $op i32) (param $handle i32) (param $bytes i32) (result i32)
    (local $n i32) (local $to i32) (local $value i32)
    (local.set $n (call $pull (local.get $op) (local.get $handle) (i32.const 0) (i32.const 0)))
    (if (i32.lt_s (local.get $n) (i32.const 0)) (then (return (call $qjs_get_undefined))))
    (local.set $to (call $malloc (i32.add (local.get $n) (i32.const 1))))
    (drop (call $pull (local.get $op) (local.get $handle) (local.get $to) (local.get $n)))
    (local.set $value (if (result i32) (local.get $bytes)
      (then (call $qjs_new_array_buffer (local.get $to) (local.get $n)))
      (else (call $qjs_new_string (local.get $to) (local.get $n)))))
    (call $free (local.get $to))
    (local.get $value))

  ;; watch adds a handle to those that are waited for.
  (func $watch (param $handle i32)
    (local $more i32)
    (if (i32.eq (global.get $count) (global.get $room))
      (then
        (global.set $room (i32.add (i32.shl (global.get $room) (i32.const 1)) (i32.const 64)))
        (local.set $more (call $malloc (i32.shl (global.get $room) (i32.const 2))))
        (memory.copy (local.get $more) (global.get $watched) (i32.shl (global.get $count) (i32.const 2)))
        (call $free (global.get $watched))
        (global.set $watched (local.get $more))
        (local.set $more (call $malloc (i32.shl (global.get $room) (i32.const 2))))
        (memory.copy (local.get $more) (global.get $ready) (i32.shl (global.get $end) (i32.const 2)))
        (call $free (global.get $ready))
        (global.set $ready (local.get $more))))
    (i32.store (i32.add (global.get $watched) (i32.shl (global.get $count) (i32.const 2))) (local.get $handle))
    (global.set $count (i32.add (global.get $count) (i32.const 1)))
    (global.set $requests (i32.add (global.get $requests) (i32.ne (local.get $handle) (i32.const 0)))))

  ;; unwatch takes one out; the last one takes its place, for the order means nothing.
  (func $unwatch (param $handle i32)
    (local $at i32) (local $last i32)
    (local.set $at (global.get $watched))
    (local.set $last (i32.add (global.get $watched) (i32.shl (i32.sub (global.get $count) (i32.const 1)) (i32.const 2))))
    (block $found
      (loop $again
        (if (i32.gt_u (local.get $at) (local.get $last)) (then (return)))
        (br_if $found (i32.eq (i32.load (local.get $at)) (local.get $handle)))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (br $again)))
    (i32.store (local.get $at) (i32.load (local.get $last)))
    (global.set $count (i32.sub (global.get $count) (i32.const 1)))
    (global.set $requests (i32.sub (global.get $requests) (i32.ne (local.get $handle) (i32.const 0)))))

  ;; draw gives a number of [0, 1) with 53 random bits, as Math.random does.
  (func $draw (result i32)
    (call $random (global.get $args) (i32.const 8))
    (call $qjs_new_number
      (f64.mul (f64.convert_i64_u (i64.shr_u (i64.load (global.get $args)) (i64.const 11))) (f64.const 0x1p-53))))

  (func $take (result i32)
    (if (i32.eq (global.get $next) (global.get $end)) (then (return (call $qjs_new_number (f64.const -1)))))
    (global.set $next (i32.add (global.get $next) (i32.const 1)))
    (call $qjs_new_number (f64.convert_i32_s
      (i32.load (i32.add (global.get $ready) (i32.shl (i32.sub (global.get $next) (i32.const 1)) (i32.const 2)))))))

  ;; strings makes bytes of the arguments from 1 up to and without end.
  (func $strings (param $argv i32) (param $from i32) (param $end i32)
    (loop $again
      (if (i32.lt_u (local.get $from) (local.get $end))
        (then
          (call $text (local.get $argv) (local.get $from))
          (local.set $from (i32.add (local.get $from) (i32.const 1)))
          (br $again)))))

  ;; do carries one operation out and gives its value, 0 for none. Arguments are values; what is a text and what a number is
  ;; the operation's affair.
  (func $do (param $argv i32) (result i32)
    (local $op i32)
    (local.set $op (call $int (local.get $argv) (i32.const 0)))
    (block $other (block $continue_as_new (block $child (block $decode (block $encode (block $bytes (block $ended (block $take (block $unwatch (block $watch (block $publish (block $log (block $asset
    (block $random (block $cancel_handle (block $drop (block $cancel (block $result (block $status (block $signal
    (block $timer (block $activity (block $effect (block $fail (block $output (block $pulled (block $entry_kind
      (br_table $entry_kind $pulled $pulled $pulled $output $fail $effect $activity $timer $signal $status $result
        $cancel $drop $cancel_handle $random $asset $log $publish $watch $unwatch $take $ended $bytes $encode $decode $child $continue_as_new $other (local.get $op)))
      ;; entry_kind
      (return (call $qjs_new_number (f64.convert_i32_s (call $entry_kind)))))
      ;; entry, info, input
      (return (call $pulled (local.get $op) (i32.const 0) (i32.const 0))))
      ;; output
      (call $strings (local.get $argv) (i32.const 1) (i32.const 2))
      (call $output (call $ptr (i32.const 1)) (call $len (i32.const 1)))
      (return (i32.const 0)))
      ;; fail
      (call $strings (local.get $argv) (i32.const 1) (i32.const 2))
      (call $fail (call $ptr (i32.const 1)) (call $len (i32.const 1)))
      (return (i32.const 0)))
      ;; effect
      (call $strings (local.get $argv) (i32.const 1) (i32.const 4))
      (return (call $qjs_new_number (f64.convert_i32_s (call $effect (call $ptr (i32.const 1)) (call $len (i32.const 1))
        (call $ptr (i32.const 2)) (call $len (i32.const 2)) (call $ptr (i32.const 3)) (call $len (i32.const 3)))))))
      ;; activity
      (call $strings (local.get $argv) (i32.const 1) (i32.const 4))
      (return (call $qjs_new_number (f64.convert_i32_s (call $activity (call $ptr (i32.const 1)) (call $len (i32.const 1))
        (call $ptr (i32.const 2)) (call $len (i32.const 2)) (call $ptr (i32.const 3)) (call $len (i32.const 3)))))))
      ;; timer
      (return (call $qjs_new_number (f64.convert_i32_s
        (call $timer (i64.trunc_sat_f64_s (call $number (local.get $argv) (i32.const 1))))))))
      ;; signal
      (call $strings (local.get $argv) (i32.const 1) (i32.const 2))
      (return (call $qjs_new_number (f64.convert_i32_s (call $signal (call $ptr (i32.const 1)) (call $len (i32.const 1)))))))
      ;; status
      (return (call $qjs_new_number (f64.convert_i32_s (call $status (call $int (local.get $argv) (i32.const 1)))))))
      ;; result
      (return (call $pulled (local.get $op) (call $int (local.get $argv) (i32.const 1)) (i32.const 0))))
      ;; cancel
      (call $cancel (call $int (local.get $argv) (i32.const 1)))
      (return (i32.const 0)))
      ;; drop
      (call $drop (call $int (local.get $argv) (i32.const 1)))
      (return (i32.const 0)))
      ;; cancel_handle
      (return (call $qjs_new_number (f64.convert_i32_s (call $cancel_handle)))))
      ;; random
      (return (call $draw)))
      ;; asset
      (call $strings (local.get $argv) (i32.const 1) (i32.const 2))
      (return (call $pulled (local.get $op) (i32.const 0) (i32.const 0))))
      ;; log
      (call $strings (local.get $argv) (i32.const 2) (i32.const 3))
      (call $log (call $int (local.get $argv) (i32.const 1)) (call $ptr (i32.const 2)) (call $len (i32.const 2)))
      (return (i32.const 0)))
      ;; publish
      (call $strings (local.get $argv) (i32.const 1) (i32.const 3))
      (call $publish (call $ptr (i32.const 1)) (call $len (i32.const 1)) (call $ptr (i32.const 2)) (call $len (i32.const 2)))
      (return (i32.const 0)))
      ;; watch
      (call $watch (call $int (local.get $argv) (i32.const 1)))
      (return (i32.const 0)))
      ;; unwatch
      (call $unwatch (call $int (local.get $argv) (i32.const 1)))
      (return (i32.const 0)))
      ;; take
      (return (call $take)))
      ;; ended
      (global.set $ended (call $int (local.get $argv) (i32.const 1)))
      (return (i32.const 0)))
      ;; bytes: what input or result gives
      (return (call $pulled (call $int (local.get $argv) (i32.const 1)) (call $int (local.get $argv) (i32.const 2)) (i32.const 1))))
      ;; encode: the UTF-8 of a string
      (call $strings (local.get $argv) (i32.const 1) (i32.const 2))
      (return (call $qjs_new_array_buffer (call $ptr (i32.const 1)) (call $len (i32.const 1)))))
      ;; decode: the string of an ArrayBuffer
      (call $strings (local.get $argv) (i32.const 1) (i32.const 2))
      (return (call $qjs_new_string (call $ptr (i32.const 1)) (call $len (i32.const 1)))))
      ;; child
      (call $strings (local.get $argv) (i32.const 1) (i32.const 4))
      (return (call $qjs_new_number (f64.convert_i32_s (call $child (call $ptr (i32.const 1)) (call $len (i32.const 1))
        (call $ptr (i32.const 2)) (call $len (i32.const 2)) (call $ptr (i32.const 3)) (call $len (i32.const 3)))))))
      ;; continue_as_new
      (call $strings (local.get $argv) (i32.const 1) (i32.const 2))
      (call $continue_as_new (call $ptr (i32.const 1)) (call $len (i32.const 1)))
      (return (i32.const 0)))
    unreachable)

  (func (export "host_call") (param $name i32) (param $name_len i32) (param $this i32) (param $argc i32) (param $argv i32) (result i32)
    (local $value i32)
    (local.set $value (call $do (local.get $argv)))
    (call $release)
    (if (i32.eqz (local.get $value)) (then (return (call $qjs_get_undefined))))
    (local.get $value))

  ;; What else the engine asks of its surroundings: gas is the host's affair, scripts are one file, and the time zone is UTC.
  (func (export "host_interrupt") (result i32) (i32.const 0))
  (func (export "host_module_normalize") (param i32 i32) (result i32) (i32.const 0))
  (func (export "host_module_load") (param i32 i32) (result i32) (i32.const 0))
  (func (export "host_get_timezone_offset") (param i32 i32) (result i32) (i32.const 0))

  ;; A promise was rejected that nobody waits for, or somebody now waits for one. __rejected(promise, reason) remembers the first,
  ;; __rejected(promise) forgets it, and __rejected() tells the log of those that are left when no job is.
  (func (export "host_promise_rejection") (param $promise i32) (param $reason i32) (param $handled i32)
    (local $argv i32)
    (local.set $argv (call $malloc (i32.const 8)))
    (i32.store (local.get $argv) (local.get $promise))
    (i32.store offset=4 (local.get $argv) (local.get $reason))
    (call $rejected (select (i32.const 1) (i32.const 2) (local.get $handled)) (local.get $argv))
    (global.set $rejections (i32.const 1))
    (call $free (local.get $argv))
    (call $qjs_free_value (local.get $promise))
    (call $qjs_free_value (local.get $reason)))

  (func $rejected (param $argc i32) (param $argv i32)
    (local $function i32)
    (local.set $function (call $qjs_get_prop_string (call $qjs_get_global) (i32.add (global.get $constants) (i32.const 33))))
    (if (call $qjs_is_function (local.get $function)) ;; there is none before the SDK is there
      (then (call $qjs_free_value
        (call $qjs_call (local.get $function) (call $qjs_get_undefined) (local.get $argc) (local.get $argv)))))
    (call $qjs_free_value (local.get $function)))

  ;; crashed gives the pending exception to __crash, or as a text to the host when there is no such function yet.
  (func $crashed (result i32)
    (local $error i32) (local $crash i32)
    (i32.store (global.get $args) (local.tee $error (call $qjs_get_exception)))
    (local.set $crash (call $qjs_get_prop_string (call $qjs_get_global) (i32.add (global.get $constants) (i32.const 25))))
    (if (call $qjs_is_function (local.get $crash))
      (then
        (drop (call $qjs_call (local.get $crash) (call $qjs_get_undefined) (i32.const 1) (global.get $args)))
        (if (global.get $ended) (then (return (i32.const 1))))))
    (i32.store (global.get $args) (call $qjs_get_string_len (local.get $error) (i32.add (global.get $args) (i32.const 4))))
    (call $fail (i32.load (global.get $args)) (i32.load offset=4 (global.get $args)))
    (i32.const 1))

  ;; load starts the engine and evaluates the script. It returns 0 when that went well.
  (func $load (result i32)
    (local $n i32) (local $script i32) (local $value i32)
    (global.set $constants (call $malloc (i32.const 56)))
    (i64.store (global.get $constants) (i64.const 0x7369727065725f5f))
    (i64.store offset=8 (global.get $constants) (i64.const 0x6a2e6e69616d0065))
    (i64.store offset=16 (global.get $constants) (i64.const 0x6e7275745f5f0073))
    (i64.store offset=24 (global.get $constants) (i64.const 0x68736172635f5f00))
    (i64.store offset=32 (global.get $constants) (i64.const 0x63656a65725f5f00))
    (i64.store offset=40 (global.get $constants) (i64.const 0x75715f5f00646574))
    (i64.store offset=48 (global.get $constants) (i64.const 0x0000000000797265))
    (global.set $args (call $malloc (i32.const 32)))
    (memory.fill (global.get $args) (i32.const 0) (i32.const 32))
    (if (call $qjs_init) (then (unreachable)))
    (call $qjs_set_max_stack_size (i32.const 0x80000))
    (call $qjs_set_promise_rejection_handler (i32.const 1))
    (drop (call $qjs_set_prop_string (call $qjs_get_global) (global.get $constants)
      (call $qjs_new_host_function (global.get $constants) (i32.const 9) (i32.const 4))))
    (local.set $n (call $asset (i32.add (global.get $constants) (i32.const 10)) (i32.const 7) (i32.const 0) (i32.const 0)))
    (if (i32.lt_s (local.get $n) (i32.const 0)) (then (unreachable))) ;; the bare engine is no workflow
    (local.set $script (call $malloc (i32.add (local.get $n) (i32.const 1))))
    (drop (call $asset (i32.add (global.get $constants) (i32.const 10)) (i32.const 7) (local.get $script) (local.get $n)))
    (i32.store8 (i32.add (local.get $script) (local.get $n)) (i32.const 0))
    (local.set $value
      (call $qjs_eval (local.get $script) (local.get $n) (i32.add (global.get $constants) (i32.const 10)) (i32.const 0)))
    (call $free (local.get $script))
    (if (call $qjs_is_exception (local.get $value)) (then (return (call $crashed))))
    (call $qjs_free_value (local.get $value))
    (i32.const 0))

  ;; jobs carries out what promises have queued. It returns 0 when that went well.
  (func $jobs (result i32)
    (block $done
      (loop $again
        (br_if $done (i32.eqz (call $qjs_is_job_pending)))
        (if (i32.lt_s (call $qjs_execute_pending_job) (i32.const 0)) (then (return (call $crashed))))
        (br $again)))
    (i32.const 0))

  ;; turn lets JavaScript settle the handles that are ready; that none is tells it that none will be.
  (func $turn (param $function i32) (result i32)
    (local $value i32)
    (local.set $value (call $qjs_call (local.get $function) (call $qjs_get_undefined) (i32.const 0) (i32.const 0)))
    (if (call $qjs_is_exception (local.get $value)) (then (return (call $crashed))))
    (call $qjs_free_value (local.get $value))
    (i32.const 0))

  (func (export "reprise_run") (result i32)
    (local $function i32)
    (if (call $load) (then (return (i32.const 1))))
    (local.set $function (call $qjs_get_prop_string (call $qjs_get_global) (i32.add (global.get $constants) (i32.const 18))))
    (loop $again
      (if (call $jobs) (then (return (i32.const 1))))
      (if (global.get $rejections)
        (then
          (global.set $rejections (i32.const 0))
          (call $rejected (i32.const 0) (i32.const 0))))
      (if (global.get $ended) (then (return (i32.eq (global.get $ended) (i32.const 2)))))
      (global.set $next (i32.const 0))
      (global.set $end (i32.const 0))
      (if (global.get $requests)
        (then (global.set $end (call $wait (global.get $watched) (global.get $count) (i64.const -1)
          (global.get $ready) (global.get $count)))))
      (if (call $turn (local.get $function)) (then (return (i32.const 1))))
      (br $again))
    (unreachable))

  (func (export "reprise_query") (result i32)
    (local $function i32) (local $value i32)
    (local.set $function (call $qjs_get_prop_string (call $qjs_get_global) (i32.add (global.get $constants) (i32.const 44))))
    (local.set $value (call $qjs_call (local.get $function) (call $qjs_get_undefined) (i32.const 0) (i32.const 0)))
    (if (call $qjs_is_exception (local.get $value)) (then (return (call $crashed))))
    (i32.eq (global.get $ended) (i32.const 2))))
