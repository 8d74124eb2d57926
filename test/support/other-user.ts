/** The user for servers that refuse to run as root. */
import { chownSync, readFileSync } from 'node:fs';

export interface OtherUser {
  readonly uid: number;
  readonly gid: number;
}

/** The first of these users that exists. Undefined if this process is not root, as servers can then run as its user. */
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
