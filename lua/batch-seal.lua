-- batch-seal.lua: let a batch end when none of its jobs is left: from now on only its own jobs add more.
--
--   parts    texts unique ties batches
--
--   KEYS[1] client              string  the recorded answer to this client
--   KEYS[2] batches             hash    id of a batch -> its numbers and the jobs it sends: see parts/batches.lua
--   KEYS[3] cancelled_batches   zset    id of a cancelled batch that has not finished -> when it was cancelled (s)
--   ARGV[1] offset              number  see parts/base.lua
--   ARGV[2] sequence            number  see parts/base.lua
--   ARGV[3] id                  string
--   ARGV[4] cause               string  JSON: seal only a batch that is open beyond its time; then also cancel it, and
--                                       pass this to `catch`; '': seal in any case
--
--   returns  {'sealed'} | {'unchanged'} | {'stale'}      (only 'sealed' writes anything)
--            unchanged: it was sealed before, is not known, or has time left
--   keeps    I7 I14
--   cost     O(log n) in the number of cancelled batches

local client, batches, cancelled_batches = KEYS[1], KEYS[2], KEYS[3]
local sequence, id, cause = tonumber(ARGV[2]), ARGV[3], ARGV[4]

local known = recall(client, sequence)
if known then return known end

local batch, moment, is_abandoned = batch_of(batches, id), clock(), cause ~= ''
if not batch or batch.open_until == 0 then return { 'unchanged' } end
if is_abandoned and batch.open_until > moment then return { 'unchanged' } end

batch.open_until = 0
if is_abandoned and batch.cancelled == 0 then batch.cancelled = moment end
local change_of_seal = { is_abandoned = is_abandoned, cause = cause }
carry_out({ step_of(batches, cancelled_batches, batch, change_of_seal, moment) })
return record(client, sequence, { 'sealed' })
