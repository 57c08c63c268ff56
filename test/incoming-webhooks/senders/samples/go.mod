module parley.test/samples

go 1.21.0

require github.com/go-playground/webhooks/v6 v6.4.0
