/** Makes a test certificate authority, and a certificate from it for this machine, with `openssl`. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface Certificates {
  /** Paths of files. */
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
  /** The authority for a client that should trust the server. */
  readonly ca: Buffer;
  remove(): Promise<void>;
}

export async function makeCertificates(): Promise<Certificates> {
  const folder = await mkdtemp(join(tmpdir(), 'onqueue-certificates-'));
  const file = (name: string): string => join(folder, name);
  const openssl = (...args: string[]): Promise<unknown> => promisify(execFile)('openssl', args);
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const names = 'subjectAltName=DNS:localhost,IP:127.0.0.1';
  await openssl(
    ...['req', '-x509', ...newKey, '-days', '2', '-subj', '/CN=authority of a test'],
    ...['-keyout', file('authority.key'), '-out', file('authority.crt')],
  );
  const request = ['-keyout', file('server.key'), '-out', file('server.csr')];
  await openssl('req', ...newKey, '-subj', '/CN=localhost', ...request);
  await writeFile(file('names'), names);
  await openssl(
    ...['x509', '-req', '-in', file('server.csr'), '-days', '2', '-extfile', file('names'), '-out', file('server.crt')],
    ...['-CA', file('authority.crt'), '-CAkey', file('authority.key'), '-CAcreateserial'],
  );
  return {
    authority: file('authority.crt'),
    certificate: file('server.crt'),
    key: file('server.key'),
    ca: await readFile(file('authority.crt')),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
