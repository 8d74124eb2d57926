-- retry.lua: move a failed job back to its queue.
--
--   parts    texts failed marks unique ties batches lanes arrivals
--
--   KEYS[1] client        string  the recorded answer to this client
--   KEYS[2] failed        zset    id -> when it failed (s)
--   KEYS[3] failed_jobs   hash    id -> meta line, payload
--   KEYS[4] ready         list    payloads ready to run
--   KEYS[5] notify        list    wake-up hints
--   KEYS[6] cancelled     zset    id of a cancelled job -> when the mark may go (s)
--   KEYS[7] reasons       hash    id of a cancelled job -> its reason
--   KEYS[8] unique        hash    unique key -> its holder
--   KEYS[9] batches       hash    id of a batch -> its numbers and the jobs it sends: see parts/batches.lua
--   KEYS[10] cancelled_batches  zset  id of a cancelled batch that has not finished -> when it was cancelled (s)
--   KEYS[11] lanes        hash    lane -> how many of its jobs are ready or reserved: see parts/lanes.lua
--   KEYS[12] held         zset    jobs that wait until their lane has room
--   ARGV[1] offset        number  see parts/base.lua
--   ARGV[2] sequence      number  see parts/base.lua
--   ARGV[3] id            string
--   ARGV[4] expected      string  the payload as it was read: the job may have failed again or been retried since
--   ARGV[5] payload       string  the payload for the queue
--
--   returns  {'retried'} | {'absent'} | {'held', id} | {'stale'}      (only 'retried' writes anything)
--            id: the id of the job that holds its unique key
--   keeps    I1 I4 I5 I7 I9 I12 I14 I18
--   cost     O(log n)

local client, failed, failed_jobs, ready = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local notify, cancelled, reasons, unique = KEYS[5], KEYS[6], KEYS[7], KEYS[8]
local batches, cancelled_batches, lanes, held = KEYS[9], KEYS[10], KEYS[11], KEYS[12]
local sequence, id, expected, payload = tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]

local known = recall(client, sequence)
if known then return known end

local entry = call('HGET', failed_jobs, id)
if not entry or select(2, entry_parts(entry)) ~= expected then return { 'absent' } end

local tied, moment = tie_of(payload), clock()
-- A debounced job that is sent back does not wait.
if tied and tied.ending == 'd' then tied = nil end
local holder = tied and holder_of(call('HGET', unique, tied.key), moment)
if holder then return { 'held', holder } end

-- Everything that can be refused is checked first: a key of another type, a missing right.
for _, key in ipairs({ failed, cancelled }) do ask_to_remove(key) end
call('HDEL', failed_jobs, nobody())
call('LLEN', notify)
call('LLEN', ready)
local entering = lane_in(payload) and plan_arrivals(lanes, held, ready, { payload })

-- It counts as pending again, with the links behind it, even if its batch was cancelled or had finished.
local batch_id, weight = batch_in(payload)
local batch = batch_id and batch_of(batches, batch_id)
local steps = {}
if batch then
  batch.cancelled, batch.finished = 0, 0
  steps[1] = step_of(batches, cancelled_batches, batch,
    { pending = weight, failed = -1, skipped = 1 - weight }, moment)
end

carry_out(steps, function()
  if tied then call('HSET', unique, tied.key, kept_of(tied.tie, moment)) end
  local done, problem = pcall(function()
    if entering then write_arrivals(entering, call) else call('RPUSH', ready, payload) end
  end)
  if done then return end
  if tied then leave(unique, { tied.key }, { tied.tie }) end
  error(problem)
end)
-- Remove a mark that was left because the job was not found while it waited: sending it back is the later order.
unmark(cancelled, reasons, id)
call('ZREM', failed, id)
call('HDEL', failed_jobs, id)
-- The job is sent back even if the hint is refused.
pcall(leave_hint, notify)
return record(client, sequence, { 'retried' })
