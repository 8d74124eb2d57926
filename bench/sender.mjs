/** The program of a process that queues jobs for the worker of a scenario: for what must not happen in the worker's own. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { fill, mails } from './mails.mjs';

const program = fileURLToPath(import.meta.url);

/** A sender of this peer; `ask({ fill: 1_000 })` and `ask({ stamped: true })` resolve when the store has it. */
export function startSender(participant) {
  const child = fork(program, [JSON.stringify(participant)]);
  return {
    async ask(order) {
      child.send(order);
      const [problem] = await once(child, 'message');
      if (problem !== null) throw new Error(`the sender failed: ${problem}`);
    },
    end: () => child.kill(),
  };
}

/** Nanoseconds on a clock that all processes of the machine share. */
export const now = () => Number(process.hrtime.bigint());

if (process.argv[1] === program) {
  const { peer: name, settings, address } = JSON.parse(process.argv[2]);
  const { prepare } = await import(`./peers/${name}.mjs`);
  const peer = await prepare(address, settings);
  const [mail] = mails(1);
  const carryOut = (order) => (order.fill ? fill(peer, order.fill) : peer.dispatchOne({ ...mail, number: now() }));
  process.on('message', (order) => {
    carryOut(order).then(
      () => process.send(null),
      (error) => process.send(error.stack),
    );
  });
  process.on('disconnect', () => process.exit());
}
