-- passage.lua: the jobs that an exchange takes out of their lanes, or brings to them.
--
--   after lanes.lua, arrivals.lua

-- Lets in others for those that have left.
local function fill(turn, queue)
  if queue.left and let_in(turn.lanes, turn.held, queue.ready, queue.left) > 0 then queue.filled = true end
end

local function make_ready(turn, queue, texts, were_delayed)
  if enter(turn.lanes, turn.held, queue.ready, texts, were_delayed) > 0 then queue.filled = true end
end

-- Nothing of the queue is ready or reserved, but jobs are held. So whoever was in is gone without a worker ending it:
-- removed by hand, or given back by a worker that knows no lanes. While jobs are delayed (`due`), that is so only in a
-- lane without order: in others, a job that waits for its next attempt keeps its place.
local function revive(turn, queue, due)
  local left, seen, from = {}, 0, '[' .. queue.ready .. '\0'
  while seen < MOST_JOBS do
    local head = call('ZRANGE', turn.held, from, '(' .. queue.ready .. '\1', 'BYLEX', 'LIMIT', 0, 1)[1]
    if not head then break end
    local field = string.match(head, '^[^%z]+%z[^%z]+')
    local name, _, tie = sub(field, #queue.ready + 2), lane_in(sub(head, #field + BEFORE_TEXT))
    if not due or byte(tie or '') ~= 76 then left[#left + 1] = name end
    seen, from = seen + 1, '(' .. field .. '\1'
  end
  if let_in(turn.lanes, turn.held, queue.ready, left, math.huge) == 0 then return false end
  leave_hint(queue.notify)
  return true
end
