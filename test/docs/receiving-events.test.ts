import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { deliverySignature } from "../../src/deliveries/signature.ts";
import { labelledBlocks } from "../support/documents.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** What stands around a documented function to make a program of it: body file, header and secret come as arguments. */
const programs: Record<
  string,
  { command: string; build?: string[]; run: string[]; file: string; wrap: (code: string) => string }
> = {
  ts: {
    command: "bun",
    run: ["bun", "run", "verify.ts"],
    file: "verify.ts",
    wrap: (code) => `${code}
const [, , file = "", header = "", secret = ""] = process.argv;
console.log(isFromParley(await Bun.file(file).text(), header, secret) ? "genuine" : "refused");`,
  },
  python: {
    command: "python3",
    run: ["python3", "verify.py"],
    file: "verify.py",
    wrap: (code) => `${code}
import sys
print("genuine" if is_from_parley(open(sys.argv[1], "rb").read(), sys.argv[2], sys.argv[3]) else "refused")`,
  },
  go: {
    command: "go",
    build: ["go", "build", "-o", "verify"],
    run: ["./verify"],
    file: "verify.go",
    wrap: (code) => `package main
import ("crypto/hmac"; "crypto/sha256"; "encoding/hex"; "fmt"; "os"; "slices"; "strconv"; "strings"; "time")
${code}
func main() {
	body, _ := os.ReadFile(os.Args[1])
	if isFromParley(body, os.Args[2], os.Args[3], time.Now()) { fmt.Println("genuine") } else { fmt.Println("refused") }
}`,
  },
  php: {
    command: "php",
    run: ["php", "verify.php"],
    file: "verify.php",
    wrap: (code) => `<?php ${code}
echo is_from_parley(file_get_contents($argv[1]), $argv[2], $argv[3]) ? "genuine" : "refused";`,
  },
  sh: {
    command: "openssl",
    run: ["sh", "verify.sh"],
    file: "verify.sh",
    wrap: (code) => `${code}
if is_from_parley "$1" "$2" "$3"; then echo genuine; else echo refused; fi`,
  },
};

const secret = "whsec_documented";
const body = JSON.stringify({ id: "1", type: "message.created", data: { body: 'Grüße 👋 from "Parley"' } });
const now = Math.floor(Date.now() / 1000);
const signed = (secrets: string[], time = now) => deliverySignature(secrets, time, body);

const blocks = labelledBlocks("docs/receiving-events.md").filter(({ label }) => label === "verify");

test("the document has the verification in five languages", () => {
  expect(blocks.map(({ language }) => language)).toEqual(["ts", "python", "go", "php", "sh"]);
});

// A language whose interpreter is not on this machine cannot be run here; the shell and TypeScript always are.
const runnable = blocks.filter(({ language }) => Bun.which(programs[language]?.command ?? "") !== null);

describe.each(runnable.map(({ language, code }) => ({ language, code })))(
  "the documented verification in $language",
  ({ language, code }) => {
    test("accepts what was signed, and refuses what was altered, signed by others or malformed", async () => {
      const program = programs[language];
      if (!program) throw new Error(`no program for ${language}`);
      using folder = temporaryFolder();
      const cwd = folder.path;
      writeFileSync(join(cwd, program.file), program.wrap(code));
      if (program.build) await Bun.spawn([...program.build, program.file], { cwd }).exited;
      const verdictOn = async (text: string, header: string) => {
        writeFileSync(join(cwd, "body"), text);
        const child = Bun.spawn([...program.run, "body", header, secret], {
          cwd,
          stdout: "pipe",
          stderr: "pipe",
        });
        const [said, complaint] = await Promise.all([child.stdout.text(), child.stderr.text()]);
        return complaint === "" ? said.trim() : complaint;
      };

      expect(await verdictOn(body, signed([secret]))).toBe("genuine");
      expect(await verdictOn(body, signed(["whsec_new", secret]))).toBe("genuine");
      expect(await verdictOn(`${body} `, signed([secret]))).toBe("refused");
      expect(await verdictOn(body, signed(["whsec_other"]))).toBe("refused");
      expect(await verdictOn(body, "nonsense")).toBe("refused");
      // The shell's is for a look by hand and does not judge the time.
      if (language !== "sh") expect(await verdictOn(body, signed([secret], now - 301))).toBe("refused");
    }, 60_000);
  },
);
