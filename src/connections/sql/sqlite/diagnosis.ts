/** What `onqueue check` reports about a SQLite file. */
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Diagnosis } from '../../contract';
import type { Engine } from '../engine';
import { raw, rowsOf } from '../statement';

const SUBJECT = 'database';

/**
 * The numbers by which `statfs` names file systems that are shared between machines, whose processes have no common memory.
 */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0x01021997, '9P'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
]);

export async function diagnose(file: string, engine: Engine): Promise<readonly Diagnosis[]> {
  const facts = raw('SELECT sqlite_version(), journal_mode FROM pragma_journal_mode');
  const rows = await engine.run({ consequence: 'it was not examined' }, () => rowsOf(facts));
  const [version, journal] = (rows[0] ?? []).map(String);
  const message = `SQLite ${version} (libsql), ${file}, journal mode ${journal}`;
  return [{ level: 'ok', subject: SUBJECT, message }, ...logWarnings(file, journal), ...networkWarnings(file)];
}

function logWarnings(file: string, journal: string | undefined): readonly Diagnosis[] {
  if (journal === 'wal') return [];
  const message = `${file} has no write-ahead log here (journal mode ${journal}): workers wait for each other, and wake once a second.`;
  return [{ level: 'warning', subject: SUBJECT, message }];
}

function networkWarnings(file: string): readonly Diagnosis[] {
  const network = NETWORK_FILE_SYSTEMS.get(statfsSync(dirname(file)).type);
  if (network === undefined) return [];
  const message = `${file} is on ${network}: processes of several machines would damage it. Use a local disk, or Redis.`;
  return [{ level: 'warning', subject: SUBJECT, message, endangersJobs: true }];
}
