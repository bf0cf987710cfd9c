module reprise/bench/guests/go

go 1.26.0

require reprise/guest-sdk/go v0.0.0

replace reprise/guest-sdk/go => ../../../guest-sdk/go
