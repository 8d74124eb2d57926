/** Runs a scenario in rounds, each by every participant in turn, and gives the figures of each run. */
import { PeerProcess } from './peer-process.mjs';

/** A first run that does not count, of this part of the jobs: compiles what is hot, loads scripts. */
const WARM_UP = 0.5;

export async function compare(scenario, rounds, store) {
  const { name, title, jobs, participants } = scenario;
  const runs = Object.fromEntries(participants.map((participant) => [participant.name, []]));
  const warm = new Map();
  try {
    if (!scenario.fresh) {
      for (const participant of participants) {
        const peer = new PeerProcess(participant, scenario, store);
        warm.set(participant, peer);
        await peer.run(Math.ceil(jobs * (scenario.warmUp ?? WARM_UP)));
      }
    }
    for (let round = 0; round < rounds; round += 1) {
      // Another one goes first each time: whoever always followed the hungriest would always find a hot machine.
      for (let place = 0; place < participants.length; place += 1) {
        const participant = participants[(round + place) % participants.length];
        const peer = warm.get(participant) ?? new PeerProcess(participant, scenario, store);
        try {
          runs[participant.name].push(await peer.run(jobs));
        } finally {
          if (scenario.fresh) peer.end();
        }
      }
    }
    return { name, title, jobs, rounds, runs };
  } finally {
    for (const peer of warm.values()) peer.end();
  }
}
