// Posts a text, an attachment and blocks to the address that it is given, as Go programs do with slack-go.
package main

import (
	"log"
	"os"

	"github.com/slack-go/slack"
)

func main() {
	log.SetFlags(0)
	section := slack.NewSectionBlock(slack.NewTextBlockObject("mrkdwn", "blocks from <https://example.com|Go>", false, false), nil, nil)
	messages := []slack.WebhookMessage{
		{Username: "Go", Text: "text from Go"},
		{Attachments: []slack.Attachment{{Title: "attachment from Go", Text: "with text", Fallback: "unseen"}}},
		{Text: "unseen", Blocks: &slack.Blocks{BlockSet: []slack.Block{section}}},
	}
	for _, message := range messages {
		if err := slack.PostWebhook(os.Args[1], &message); err != nil {
			log.Fatal(err)
		}
	}
}
