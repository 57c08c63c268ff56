import { X509Certificate } from "node:crypto";
import { readSettingFile } from "./setting-file.ts";

/** The maximum size of the file, in bytes: several times the bundle of a whole operating system. */
const bytesMax = 1024 * 1024;

const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * The certificates of a file, each in PEM; or why it cannot be used, as the end of a sentence that begins with its path.
 */
export function readCertificateFile(path: string): { certificates: string[] } | { problem: string } {
  const read = readSettingFile(path, { what: "certificate", bytesMax });
  if ("problem" in read) return read;
  const certificates = read.text.match(pem) ?? [];
  if (certificates.length === 0) return { problem: "holds no certificate in PEM" };
  const broken = certificates.findIndex((certificate) => !isCertificate(certificate));
  return broken === -1
    ? { certificates }
    : { problem: `holds a certificate that cannot be read, number ${broken + 1}` };
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).raw.length > 0;
  } catch {
    return false;
  }
}
