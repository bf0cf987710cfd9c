module reprise/bench/harness

go 1.26.0
