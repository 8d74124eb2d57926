-- budget.lua: how many texts one step may still move or look at.

local function new_budget()
  return { jobs = MOST_JOBS, bytes = MOST_BYTES }
end

-- Whether one more text may be moved. The first always may, however long: otherwise it would stay forever.
local function charge(budget, text)
  if budget.jobs == 0 or (budget.jobs < MOST_JOBS and #text > budget.bytes) then return false end
  budget.jobs, budget.bytes = budget.jobs - 1, budget.bytes - #text
  return true
end
