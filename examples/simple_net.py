"""The smallest whole program: a network of two layers learns exclusive or.

    python examples/simple_net.py

PyTorch prints the same numbers: only the imports differ.
"""

import tocha
from tocha import nn, optim

tocha.manual_seed(0)


class SimpleNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Linear(2, 4)
        self.layer2 = nn.Linear(4, 1)

    def forward(self, x):
        return self.layer2(tocha.relu(self.layer1(x)))


inputs = tocha.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
targets = tocha.tensor([[0.0], [1.0], [1.0], [0.0]])

model = SimpleNet()
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=0.01)

for epoch in range(1, 101):
    loss = criterion(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print(f"epoch {epoch:3d}  loss {loss.item():.6f}")
