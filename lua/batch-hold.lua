-- batch-hold.lua: postpone the moment when an open batch counts as abandoned: more of its jobs will come.
--
--   parts    texts unique ties batches
--
--   KEYS[1] client              string  the recorded answer to this client
--   KEYS[2] batches             hash    id of a batch -> its numbers and the jobs it sends: see parts/batches.lua
--   KEYS[3] cancelled_batches   zset    id of a cancelled batch that has not finished -> when it was cancelled (s)
--   ARGV[1] offset              number  see parts/base.lua
--   ARGV[2] sequence            number  see parts/base.lua
--   ARGV[3] id                  string
--
--   returns  {'held'} | {'unchanged'} | {'stale'}      (only 'held' writes anything)
--            unchanged: the batch is not open
--   keeps    I7 I14
--   cost     O(1)

local client, batches, cancelled_batches = KEYS[1], KEYS[2], KEYS[3]
local sequence, id = tonumber(ARGV[2]), ARGV[3]

local known = recall(client, sequence)
if known then return known end

local batch, moment = batch_of(batches, id), clock()
if not batch or batch.open_until == 0 then return { 'unchanged' } end

batch.open_until = moment + batch.open_for
carry_out({ step_of(batches, cancelled_batches, batch, {}, moment) })
return record(client, sequence, { 'held' })
