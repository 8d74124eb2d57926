-- orders.lua: the orders given to workers, and how many jobs of a queue may run at a time.
--
--   after pauses.lua; needs refusals.lua

-- Notes how many jobs of each queue may be reserved at a time, for those with a limit.
local function heed_limits(control, queues)
  local fields = {}
  for place, queue in ipairs(queues) do fields[place] = 'running:' .. queue.ready end
  for place, most in ipairs(call('HMGET', control, unpack(fields))) do queues[place].most = tonumber(most or '') end
end

-- Reports the last order to restart and the paused queues to whoever reserves, and marks these queues as paused.
local function heed_orders(turn, control, queues, sources)
  local news, fields, paused = turn.news, { 'restart' }, {}
  for place = 1, sources do fields[place + 1] = 'paused:' .. queues[place].ready end
  local values = call('HMGET', control, unpack(fields))
  for place = 1, sources do
    local queue = queues[place]
    queue.paused, queue.resumes = is_paused(values[place + 1], control, queue.ready, turn.moment)
    if queue.paused then paused[#paused + 1] = place end
  end
  if values[1] then news[#news + 1], news[#news + 2] = 'restart', values[1] end
  if #paused > 0 then news[#news + 1], news[#news + 2] = 'paused', paused end
end

-- Whether any job is cancelled. If the orders cannot be read, they might say to take nothing, so the call only
-- settles.
local function read_orders(turn, control, cancelled, queues, sources)
  local any_cancelled = false
  local done, problem = pcall(function()
    any_cancelled = call('ZCARD', cancelled) > 0
    turn.any_batch_cancelled = call('ZCARD', turn.cancelled_batches) > 0
    if turn.limit > 0 then
      heed_orders(turn, control, queues, sources)
      heed_limits(control, queues)
    end
  end)
  -- What such a call settles may make room for other workers.
  if turn.limit == 0 then pcall(heed_limits, control, queues) end
  if not done then
    turn.limit = 0
    need('skip')(turn, {}, 0, problem)
  end
  return any_cancelled
end
