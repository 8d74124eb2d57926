-- batch-callbacks.lua: read the jobs that a batch sends at its events, and the events that it has reported.
--
--   parts    texts unique ties batches
--
--   KEYS[1] batches     hash    id of a batch -> its numbers and the jobs it sends: see parts/batches.lua
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] id          string
--
--   returns  {'read', told, every, {event, ready, delayed, notify, delay, head, id}...} | {'unknown'}
--            told: the first letters of the events that it has reported; every: see parts/batches.lua
--   keeps    writes nothing
--   cost     O(n) in the number of jobs that it sends

local batches, id = KEYS[1], ARGV[2]

local batch = batch_of(batches, id)
if not batch then return { 'unknown' } end

local packed = call('HGET', batches, id .. ':callbacks')
return { 'read', batch.told, batch.every, unpack(packed and cmsgpack.unpack(packed) or {}) }
