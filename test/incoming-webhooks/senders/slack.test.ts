import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ChannelRow } from "../../../src/channels/store.ts";
import { messageIn } from "../../../src/incoming-webhooks/senders/read-post.ts";
import { slack } from "../../../src/incoming-webhooks/senders/slack.ts";
import { type Incoming, startWebhookStage, type WebhookStage } from "../../support/webhook-stage.ts";

const read = (payload: unknown) => messageIn(slack, payload, new Headers());
const textOf = (payload: unknown) => read(payload).text;

describe("mrkdwn becomes readable text", () => {
  test.each([
    ["<https://example.com/1|the build> failed", "the build (https://example.com/1) failed"],
    ["see <https://example.com/1>", "see https://example.com/1"],
    ["<https://example.com|example.com>", "https://example.com"],
    ["<mailto:ops@example.com|ops@example.com>", "ops@example.com"],
    ["<@U012|mona> and <@U013>", "@mona and @U013"],
    ["<#C1|general> <#C2>", "#general #C2"],
    ["<!here> <!channel> <!subteam^S1|@ops>", "@here @channel @ops"],
    ["<!date^1392734382^{date} at {time}^https://example.com|18 February>", "18 February"],
    ["a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"],
    ["1 < 2 and <b>bold</b> stay, *so* does `this`", "1 < 2 and <b>bold</b> stay, *so* does `this`"],
    ["<<<<|||>", "<<<<|||>"],
  ])("%s", (mrkdwn, text) => {
    expect(textOf({ text: mrkdwn })).toBe(text);
  });
});

describe("an attachment", () => {
  test("shows what people see of it, and the links that lead on", () => {
    const attachment = {
      fallback: "not shown",
      color: "danger",
      pretext: "Before it",
      author_name: "mona",
      author_link: "https://example.com/mona",
      title: "Build &amp; test failed",
      title_link: "https://example.com/builds/7",
      text: "2 of <https://example.com/tests|120 tests>",
      fields: [{ title: "Branch", value: "main", short: true }, { value: "no title" }],
      actions: [
        { type: "button", text: "Log", url: "https://example.com/log" },
        { type: "button", text: "Retry", name: "retry" },
      ],
      image_url: "https://example.com/chart.png",
      footer: "CI",
      mrkdwn_in: ["text"],
    };
    expect(textOf({ attachments: [attachment] })).toBe(`Before it
mona
Build & test failed
2 of 120 tests (https://example.com/tests)
Branch: main
no title
Log (https://example.com/log)
https://example.com/builds/7
https://example.com/chart.png
CI`);
  });

  test.each([",", ").", " now"])("does not repeat a link that its text shows before %j", (after) => {
    const link = "https://example.com/wiki/Parley_(disambiguation)";
    expect(textOf({ attachments: [{ title_link: link, text: `Read ${link}${after}` }] })).toBe(
      `Read ${link}${after}`,
    );
  });

  test("shows a link although its text has one that begins like it", () => {
    const attachment = { title_link: "https://example.com/1", text: "https://example.com/12" };
    expect(textOf({ attachments: [attachment] })).toBe("https://example.com/12\nhttps://example.com/1");
  });

  test("without anything else shows its fallback", () => {
    expect(textOf({ attachments: [{ color: "good", fallback: "All is <https://example.com|well>" }] })).toBe(
      "All is well (https://example.com)",
    );
  });

  test("follows the text, does not say it again, and stands apart from the next one", () => {
    const attachments = [{ title: "Deployed", text: "web 1.2" }, { text: "api 3.4" }];
    expect(textOf({ text: "Deployed", attachments })).toBe("Deployed\nweb 1.2\n\napi 3.4");
  });
});

describe("blocks", () => {
  test("take the place of the text, and attachments follow them", () => {
    const blocks = [
      { type: "header", text: { type: "plain_text", text: "Deploy &amp; smoke test" } },
      {
        type: "section",
        text: { type: "mrkdwn", text: "*web* to <https://example.com|production>" },
        fields: [{ type: "mrkdwn", text: "*By*\nmona" }],
        accessory: {
          type: "button",
          text: { type: "plain_text", text: "Open" },
          url: "https://example.com/1",
        },
      },
      { type: "divider" },
      { type: "divider" },
      {
        type: "context",
        elements: [
          { type: "image", image_url: "https://example.com/i.png", alt_text: "cat" },
          { type: "mrkdwn", text: "took 3 s" },
        ],
      },
      { type: "image", image_url: "https://example.com/chart.png", alt_text: "A chart" },
      {
        type: "actions",
        elements: [
          { type: "button", text: { type: "plain_text", text: "Log" }, url: "https://example.com/log" },
          { type: "button", text: { type: "plain_text", text: "Approve" }, value: "yes" },
        ],
      },
      { type: "markdown", text: "**bold** & <b>" },
      { type: "not known yet", text: { type: "mrkdwn", text: "new" } },
    ];
    const attachments = [{ blocks: [{ type: "section", text: { type: "mrkdwn", text: "inside" } }] }];
    expect(textOf({ text: "the fallback", blocks, attachments })).toBe(`Deploy & smoke test
*web* to production (https://example.com)
*By*
mona
Open (https://example.com/1)

cat took 3 s
A chart (https://example.com/chart.png)
Log (https://example.com/log)
**bold** & <b>
new
inside`);
  });

  test("of rich text keep lists, quotes and links", () => {
    const section = (...elements: object[]) => ({ type: "rich_text_section", elements });
    const say = (text: string) => ({ type: "text", text, style: { bold: true } });
    const elements = [
      section(say("Hello "), { type: "user", user_id: "U1" }, say(" "), { type: "emoji", name: "wave" }),
      {
        type: "rich_text_list",
        style: "bullet",
        elements: [section(say("one")), section({ type: "link", url: "https://example.com", text: "two" })],
      },
      { type: "rich_text_list", style: "ordered", indent: 1, offset: 2, elements: [section(say("third"))] },
      { type: "rich_text_preformatted", elements: [say("x = 1\n  y")] },
      { type: "rich_text_quote", elements: [say("said\ntwice")] },
      section({ type: "broadcast", range: "here" }, say(" "), {
        type: "date",
        timestamp: 0,
        format: "{date}",
      }),
    ];
    expect(textOf({ blocks: [{ type: "rich_text", elements }] })).toBe(`Hello @U1 :wave:
• one
• two (https://example.com)
  3. third
x = 1
  y
> said
> twice
@here 1970-01-01T00:00:00.000Z`);
  });

  test("of a table are its rows", () => {
    const raw = (text: string) => ({ type: "raw_text", text });
    const rows = [
      [raw("host"), raw("disk")],
      [raw("db1"), raw("91 %")],
    ];
    expect(textOf({ blocks: [{ type: "table", rows }] })).toBe("host | disk\ndb1 | 91 %");
  });

  test("with nothing to read leave the text", () => {
    expect(textOf({ text: "hello", blocks: [{ type: "divider" }, { type: "actions", elements: [] }] })).toBe(
      "hello",
    );
  });
});

test("the name and the icon are the post's", () => {
  const icon = "https://example.com/i.png";
  expect(read({ text: "hi", username: "CI", icon_url: icon, icon_emoji: ":robot:", channel: "#x" })).toEqual({
    text: "hi",
    username: "CI",
    iconUrl: icon,
  });
});

describe("on the server", () => {
  let stage: WebhookStage;
  let channel: ChannelRow;
  let hook: Incoming;
  beforeAll(async () => {
    stage = await startWebhookStage();
    channel = await stage.channel();
    hook = await stage.incoming(channel);
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  async function post({ token }: { token: string }, body: string, headers = {}): Promise<string> {
    const address = `${stage.server.url}/webhooks/incoming/${token}/slack`;
    const response = await fetch(address, { method: "POST", body, headers });
    return `${response.status} ${await response.text()}`;
  }

  test("a form with the JSON in its payload posts as JSON does", async () => {
    const payload = JSON.stringify({ attachments: [{ title: "a+b & 100 %" }] });
    const type = { "content-type": "application/x-www-form-urlencoded" };
    expect(await post(hook, new URLSearchParams({ payload }).toString(), type)).toBe("200 ok");
    expect((await stage.messages(channel))[0]?.body).toBe("a+b & 100 %");
  });

  test("each error is one of Slack's", async () => {
    const text = JSON.stringify({ text: "hello" });
    expect(await post(hook, "[]")).toBe("400 invalid_payload");
    expect(await post(hook, '{"attachments":[{"color":"good"}]}')).toBe("400 no_text");
    expect(await post({ token: "nonsense" }, text)).toBe("404 no_service");
    expect(await post(hook, `{"text":"${"x".repeat(1024 * 1024)}"}`)).toBe("413 msg_too_long");
    expect(await post(await stage.incoming(channel, { signed: true }), text)).toBe("403 invalid_token");
    const archived = await stage.channel();
    const toArchived = await stage.incoming(archived);
    await stage.workspace.archive(archived);
    expect(await post(toArchived, text)).toBe("410 channel_is_archived");
    const outside = await stage.incoming(channel);
    await stage.workspace.leave(channel, outside.bot);
    expect(await post(outside, text)).toBe("403 action_prohibited");
  });
});
