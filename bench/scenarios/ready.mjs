/** What a job costs at a long queue and at a short one: how many stay behind must make no difference. */
import { fill } from '../mails.mjs';
import { processed } from '../processed.mjs';

const behind = (peer, count) => ({
  name: `${peer}, ${count.toLocaleString('en')} behind`,
  peer,
  settings: { behind: count },
});

export const ready = {
  name: 'ready',
  title: 'process, concurrency 1, of many that wait',
  jobs: 3_000,
  rounds: 3,
  participants: (full) => [behind('onqueue', 10), behind('onqueue', full ? 1_000_000 : 200_000)],
  baseline: 'onqueue, 10 behind',
  left: (jobs, { settled }, { behind }) => jobs + behind - settled,
  arrange: (peer, jobs, { settings }) => fill(peer, jobs + settings.behind),
  act: (peer, jobs) => processed(peer, 1, jobs),
};
