/** The program of a peer's process: carries out the steps of one scenario as it is told, and answers when each is done. */
import { scenarios } from './scenarios/all.mjs';

const [scenarioName, written] = process.argv.slice(2);
const scenario = scenarios.find((each) => each.name === scenarioName);
/** `peer`, `settings` and `address`. */
const participant = JSON.parse(written);
const { prepare } = await import(`./peers/${participant.peer}.mjs`);

let peer;
let arranged;
let own;

const steps = {
  async arrange(jobs) {
    peer = await prepare(participant.address, participant.settings);
    arranged = await scenario.arrange(peer, jobs, participant);
    // What the preparation left behind is not cleared away at the cost of what is measured. Of the young generation only: a full
    // collection also drops compiled code that is about objects of which none is left, and the run would compile it once more.
    globalThis.gc({ type: 'minor' });
  },

  async act(jobs) {
    const before = process.cpuUsage();
    own = await scenario.act(peer, jobs, arranged);
    const { user, system } = process.cpuUsage(before);
    return { cpu: user + system, ...own };
  },

  async end(jobs) {
    await scenario.end?.(arranged);
    const size = await peer.size();
    await peer.close();
    const expected = scenario.left(jobs, own, participant.settings);
    if (size !== expected) throw new Error(`the store holds ${size} jobs at the end, not ${expected}`);
  },
};

async function answer({ step, jobs }) {
  try {
    process.send({ answer: await steps[step](jobs) });
  } catch (error) {
    process.send({ problem: error.stack });
  }
}

process.on('message', (message) => void answer(message));
// The bench has gone: nobody will ask again.
process.on('disconnect', () => process.exit());
