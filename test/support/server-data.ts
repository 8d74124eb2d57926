/**
 * The data folder of a new server. An installer takes seconds, and a test run starts dozens of servers, so its result is
 * kept below `build` and copied for later servers.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, realpathSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { OtherUser } from './other-user';

/** Asynchronous, because a blocking call would delay the deadlines of other servers that start meanwhile. */
const run = promisify(execFile);
const KEPT = join(__dirname, '../../build/server-data');

/** A program that makes a data folder. */
export interface Installer {
  readonly program: string;
  /** The arguments that determine the content. */
  readonly args: readonly string[];
  /** The arguments that determine the place. */
  readonly place: readonly string[];
}

/** Makes the folder `data`, owned by `user`. Its parent must exist and belong to that user. */
export async function install(data: string, installer: Installer, user: OtherUser | undefined): Promise<void> {
  const kept = join(KEPT, `${basename(installer.program)}-${recipe(installer, user)}`);
  if (existsSync(kept)) return copy(kept, data);
  await run(installer.program, [...installer.place, ...installer.args], { cwd: dirname(data), ...user });
  await keep(data, kept);
}

/** A different version of the program leads to another folder. */
function recipe({ program, args }: Installer, user: OtherUser | undefined): string {
  const { mtimeMs, size } = statSync(program);
  const all = JSON.stringify([realpathSync(program), mtimeMs, size, args, user]);
  return createHash('sha256').update(all).digest('hex').slice(0, 16);
}

/** In one step, because another test file may look for the folder at any time, or has made it meanwhile. */
async function keep(data: string, kept: string): Promise<void> {
  await mkdir(KEPT, { recursive: true });
  const folder = await mkdtemp(join(KEPT, 'unfinished-'));
  await copy(data, join(folder, 'data'));
  await rename(join(folder, 'data'), kept).catch((error: NodeJS.ErrnoException) => {
    if (!existsSync(kept)) throw error;
  });
  await rm(folder, { recursive: true, force: true });
}

/** Preserves owners and permissions, unlike `fs.cp`. Servers refuse a folder that is not their user's alone. */
async function copy(from: string, to: string): Promise<void> {
  await run('cp', ['-Rp', from, to]);
}
