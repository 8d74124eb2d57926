-- old.lua: forgets batches that ended long ago.
--
--   after batches.lua

-- Looks at 100 batches that began at `oldest` or before, after skipping `from`, and forgets those that finished before
-- it; with `unfinished`, also those that have not finished. Returns how many it has looked at, and how many it has
-- forgotten.
local function forget_old(batches, begun_batches, cancelled_batches, oldest, unfinished, from)
  local ids = call('ZRANGEBYSCORE', begun_batches, '-inf', score(oldest), 'LIMIT', from, MOST_JOBS)
  local fields, old = {}, {}
  for _, id in ipairs(ids) do
    local batch = batch_of(batches, id)
    local moment = not batch and 0 or batch.finished > 0 and batch.finished or unfinished and batch.begun or oldest
    if moment < oldest then
      old[#old + 1] = id
      for _, ending in ipairs({ '', ':name', ':callbacks' }) do fields[#fields + 1] = id .. ending end
    end
  end
  if #old > 0 then
    for _, key in ipairs({ begun_batches, cancelled_batches }) do ask_to_remove(key) end
    call('HDEL', batches, unpack(fields))
    call('ZREM', cancelled_batches, unpack(old))
    call('ZREM', begun_batches, unpack(old))
  end
  return #ids, #old
end

-- Seconds for which a finished batch is kept, as in `src/connections/batch-store.ts`.
local FINISHED_KEPT = 86400

-- Forgets finished batches when a batch begins. If there are more than one call looks at, each call looks at others.
local function sweep(batches, begun_batches, cancelled_batches, moment, sequence)
  pcall(function()
    local oldest = moment - FINISHED_KEPT * 1000000
    local count = call('ZCOUNT', begun_batches, '-inf', score(oldest))
    if count == 0 then return end
    local from = math.max(math.min(sequence * MOST_JOBS % count, count - MOST_JOBS), 0)
    forget_old(batches, begun_batches, cancelled_batches, oldest, false, from)
  end)
end
