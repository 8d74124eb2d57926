/** Runs a scenario in rounds, each by every peer in turn, and gives the figures of each run. */
import { peers } from './peers/all.mjs';
import { PeerProcess } from './peer-process.mjs';

/** A first run that does not count, of this part of the jobs: compiles what is hot, loads scripts. */
const WARM_UP = 0.5;

export async function compare(scenario, rounds, server) {
  const processes = peers.map((name) => new PeerProcess(name, scenario, server));
  try {
    for (const peer of processes) await peer.run(scenario.jobs * WARM_UP);
    const runs = Object.fromEntries(peers.map((name) => [name, []]));
    for (let round = 0; round < rounds; round += 1) {
      // Another one goes first each time: whoever always followed the hungriest would always find a hot machine.
      for (let place = 0; place < peers.length; place += 1) {
        const peer = processes[(round + place) % peers.length];
        runs[peer.name].push(await peer.run(scenario.jobs));
      }
    }
    return { name: scenario.name, title: scenario.title, jobs: scenario.jobs, runs };
  } finally {
    for (const peer of processes) peer.end();
  }
}
