module nethttp

go 1.26
