# Posts a text, an attachment and blocks to the address that it is given, as Python programs do with slack_sdk.
import sys

from slack_sdk.webhook import WebhookClient

client = WebhookClient(sys.argv[1])
section = {"type": "section", "text": {"type": "mrkdwn", "text": "blocks from <https://example.com|Python>"}}
for message in (
    {"text": "text from Python"},
    {"attachments": [{"title": "attachment from Python", "text": "with text", "fallback": "unseen"}]},
    {"text": "unseen", "blocks": [section]},
):
    response = client.send(**message)
    print(response.status_code, response.body)
