/**
 * The data folder of a new server: what an installer makes is kept below `build`, and copied for the servers that come
 * after. An installer works for seconds, and dozens of servers are started in each run of the tests.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { OtherUser } from './other-user';

/** Not in one go: the deadlines of other servers that start meanwhile would pass unseen. */
const run = promisify(execFile);
const KEPT = join(__dirname, '../../build/server-data');

/** What makes a data folder. */
export interface Installer {
  readonly program: string;
  /** The arguments that decide what it makes. */
  readonly args: readonly string[];
  /** Those that say where. */
  readonly place: readonly string[];
}

/** Makes `data` what the installer makes it, owned by `user`. Its parent is there, and the user's. */
export async function install(data: string, installer: Installer, user: OtherUser | undefined): Promise<void> {
  const kept = join(KEPT, `${basename(installer.program)}-${recipe(installer, user)}`);
  if (existsSync(kept)) return copy(kept, data);
  await run(installer.program, [...installer.place, ...installer.args], { cwd: dirname(data), ...user });
  await keep(data, kept);
}

/** Another version of the program makes another folder. */
function recipe({ program, args }: Installer, user: OtherUser | undefined): string {
  const { mtimeMs, size } = statSync(program);
  const all = JSON.stringify([realpathSync(program), mtimeMs, size, args, user]);
  return createHash('sha256').update(all).digest('hex').slice(0, 16);
}

/** In one step: another file's tests may look for it at any time, or have kept theirs meanwhile. */
async function keep(data: string, kept: string): Promise<void> {
  await mkdir(KEPT, { recursive: true });
  const folder = await mkdtemp(join(KEPT, 'unfinished-'));
  await copy(data, join(folder, 'data'));
  await rename(join(folder, 'data'), kept).catch((error: NodeJS.ErrnoException) => {
    if (!existsSync(kept)) throw error;
  });
  await rm(folder, { recursive: true, force: true });
}

/** With owners and rights, which `fs.cp` leaves behind: a server refuses a folder that is not its user's alone. */
async function copy(from: string, to: string): Promise<void> {
  await run('cp', ['-Rp', from, to]);
}
