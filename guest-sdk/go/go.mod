module reprise/guest-sdk/go

go 1.26.0
