/** Who servers run as that refuse to run as root. */
import { chownSync, readFileSync } from 'node:fs';

export interface OtherUser {
  readonly uid: number;
  readonly gid: number;
}

/** The first of these users that this machine has; undefined where this process is not root: it may be itself. */
export function otherUser(...names: readonly string[]): OtherUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of [...names, 'nobody']) {
    const [, , uid, gid] = users.find(([user]) => user === name) ?? [];
    if (uid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  return undefined;
}

export function give(folder: string, user: OtherUser | undefined): void {
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
}
