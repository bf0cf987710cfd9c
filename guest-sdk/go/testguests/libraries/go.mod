module libraries

go 1.26.0

require (
	golang.org/x/sync v0.25.0
	reprise/guest-sdk/go v0.0.0
)

replace reprise/guest-sdk/go => ../..
