import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A key and a certificate for it, both in PEM. */
export type KeyPair = { key: string; cert: string };

/** A certificate authority of the tests' own. */
export type Authority = {
  /** Its certificate, in PEM. */
  ca: string;
  /** A certificate with these subject alternative names, or with a common name only, valid from this year until that year or moment. */
  issue(names: string | undefined, validity?: { from?: number; until?: number | Date }): KeyPair;
};

const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

/** Makes an authority that keeps its books in the folder, which must hold no other. */
export function createAuthority(folder: string): Authority {
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: folder, stdio: "pipe" });
  const read = (name: string) => readFileSync(join(folder, name), "utf8");
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);

  openssl(
    "req",
    "-x509",
    ...newKey,
    "-keyout",
    "ca.key",
    "-out",
    "ca.pem",
    "-days",
    "30",
    "-subj",
    "/CN=Test CA",
  );
  write("serial", "01");
  write("index", "");
  write("index.attr", "unique_subject = no\n");
  write(
    "ca.cnf",
    `[ca]
default_ca = test
[test]
new_certs_dir = .
database = index
serial = serial
certificate = ca.pem
private_key = ca.key
default_md = sha256
policy = any
[any]
commonName = supplied
`,
  );

  return {
    ca: read("ca.pem"),
    issue(names, { from = 2020, until = 2090 } = {}) {
      openssl("req", ...newKey, "-keyout", "leaf.key", "-out", "leaf.csr", "-subj", "/CN=receiver.test");
      write(
        "leaf.ext",
        names === undefined ? "basicConstraints = CA:FALSE\n" : `subjectAltName = ${names}\n`,
      );
      // `openssl x509` could not date a certificate back before OpenSSL 3.4; `openssl ca` always could.
      const endDate =
        typeof until === "number" ? `${until}0101000000Z` : until.toISOString().replace(/[-:T]|\.\d+/g, "");
      const dates = ["-startdate", `${from}0101000000Z`, "-enddate", endDate];
      const files = ["-in", "leaf.csr", "-out", "leaf.pem", "-extfile", "leaf.ext"];
      openssl("ca", "-batch", "-notext", "-config", "ca.cnf", ...files, ...dates);
      return { key: read("leaf.key"), cert: read("leaf.pem") };
    },
  };
}

/** A certificate that vouches for itself. */
export function selfSigned(folder: string): KeyPair {
  const name = ["-subj", "/CN=receiver.test", "-addext", "subjectAltName=DNS:receiver.test"];
  const files = ["-keyout", "self.key", "-out", "self.pem"];
  execFileSync("openssl", ["req", "-x509", ...newKey, ...files, ...name], { cwd: folder, stdio: "pipe" });
  return {
    key: readFileSync(join(folder, "self.key"), "utf8"),
    cert: readFileSync(join(folder, "self.pem"), "utf8"),
  };
}
