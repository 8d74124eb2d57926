/** The program of a peer's process: carries out the steps of one scenario as it is told, and answers when each is done. */
import { scenarios } from './scenarios/all.mjs';

const [name, scenarioName, address] = process.argv.slice(2);
const scenario = scenarios.find((each) => each.name === scenarioName);
const { prepare } = await import(`./peers/${name}.mjs`);

let peer;
let arranged;

const steps = {
  async arrange(jobs) {
    peer = await prepare(JSON.parse(address));
    arranged = await scenario.arrange(peer, jobs);
    // What the preparation left behind is not cleared away at the cost of what is measured.
    globalThis.gc();
  },

  async act(jobs) {
    const before = process.cpuUsage();
    const milliseconds = await scenario.act(peer, jobs, arranged);
    const { user, system } = process.cpuUsage(before);
    return { milliseconds, cpu: user + system };
  },

  async end(jobs) {
    const size = await peer.size();
    await peer.close();
    const expected = scenario.left(jobs);
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
