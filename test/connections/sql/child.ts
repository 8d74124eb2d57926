/** A process that uses a file: `child.ts <file> <what> [<arguments>]`. It writes each line at once. */
import { writeSync } from 'node:fs';
import { systemClock } from '../../../src/base/clock';
import { connectDatabase } from '../../../src/connections/sql/opening';
import { openSqlite } from '../../../src/connections/sql/sqlite/engine';
import { idOf, payload, silent } from './open-database';
import { reserveFrom, settleIn, waitOn } from '../../support/exchange';

const [file = '', what = '', ...args] = process.argv.slice(2);
const request = { queues: ['default'], limit: 10, lease: 60 };

const say = (line: string): void => void writeSync(1, `${line}\n`);

const connect = (deadline = 60) =>
  connectDatabase(
    { driver: 'database', url: `sqlite:${file}` },
    { name: 'child', clock: systemClock, logger: silent, deadline },
  );

const actions: Readonly<Record<string, () => Promise<void>>> = {
  /** Pushes one job and ends without closing anything. */
  async push() {
    await connect().push('default', [{ payload: payload(args[0] ?? 'a') }]);
    say('pushed');
  },

  async resume() {
    await connect().control.resume('default');
  },

  /** Pushes to a file that stays locked. */
  async pushWithin() {
    const pushed = connect(Number(args[0])).push('default', [{ payload: payload('patient') }]);
    await pushed.catch((error: { readonly code: string }) => say(error.code));
  },

  /** Waits for a job that nobody ever pushes. */
  async idle() {
    const connection = connect();
    await reserveFrom(connection, request);
    say('waiting');
    await waitOn(connection, ['default'], 3600, new AbortController().signal);
  },

  /** Pushes and completes jobs until it is killed, and prints what was confirmed. */
  async work() {
    const connection = connect();
    for (let turn = 0; ; turn += 1) {
      const ids = [`${args[0]}-${turn}-a`, `${args[0]}-${turn}-b`];
      await connection.push(
        'default',
        ids.map((id) => ({ payload: payload(id) })),
      );
      say(`pushed ${ids.join(' ')}`);
      const { reservations } = await reserveFrom(connection, { ...request, limit: 1 });
      // Printed first, because a process killed between the commit and its line has still ended the job.
      say(`ending ${reservations.map(idOf).join(' ')}`);
      await settleIn(
        connection,
        reservations.map((reservation) => ({ outcome: 'completed', reservation })),
      );
      say(`ended ${reservations.map(idOf).join(' ')}`);
    }
  },

  /** Reserves and completes all jobs, and prints each. */
  async drain() {
    const connection = connect();
    for (;;) {
      const { reservations } = await reserveFrom(connection, request);
      if (reservations.length === 0) break;
      const results = await settleIn(
        connection,
        reservations.map((reservation) => ({ outcome: 'completed', reservation })),
      );
      reservations.forEach((reservation, index) => say(`${results[index]} ${String(idOf(reservation))}`));
    }
    await connection.close();
  },

  /** Starts a transaction, writes in it, and blocks. */
  async standInTransaction() {
    const database = openSqlite(file, 1000);
    database.exec('BEGIN IMMEDIATE');
    database.exec('DELETE FROM jobs');
    say('standing');
    systemClock.after(600_000, () => undefined, true);
  },
};

void actions[what]?.();
