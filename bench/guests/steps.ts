// The benchmark's workflow in TypeScript: steps that do nothing, as effects of the host or as activities of this module. It
// returns what the last step returned.
import { activity, effect, workflow } from "reprise";

interface Work { steps: number; parallel?: boolean; activity?: boolean }

const payload = "....5....|".repeat(10);

const step = activity("step", async (_: number) => payload);

workflow("steps", async (work: Work): Promise<string> => {
  const begin = () => work.activity ? step(1) : effect<string>("test.step", 1);
  if (work.parallel) return (await Promise.all(Array.from({ length: work.steps }, begin))).at(-1)!;
  let last = "";
  for (let i = 0; i < work.steps; i++) last = await begin();
  return last;
});
