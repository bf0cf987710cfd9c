;; A reactor whose start section traps.
(module
  (memory (export "memory") 1)
  (func $start unreachable)
  (start $start)
  (func (export "reprise_run")))
